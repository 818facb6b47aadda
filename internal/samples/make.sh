#!/usr/bin/env bash
# Generates the built-in samples with ffmpeg's own test sources: a moving test
# picture with a running clock, and a tone. Nothing in them is anyone's work.
#
#   internal/samples/make.sh
#
# The samples in the repository were made with ffmpeg 5.1. Other versions give
# other bytes; the tests count on no particular ones.
set -euo pipefail
cd "$(dirname "$0")/media"

# mp4 NAME SIZE VIDEO_RATE [OPTION...]: 20 s of H.264 with B-frames and AAC.
mp4() {
	local name=$1 size=$2 rate=$3
	shift 3
	ffmpeg -y -v error \
		-f lavfi -i "testsrc2=size=$size:rate=25:duration=20" \
		-f lavfi -i "sine=frequency=440:beep_factor=4:sample_rate=44100:duration=20" \
		-map 0:v -map 1:a \
		-c:v libx264 -threads 1 -preset slow -pix_fmt yuv420p -g 50 -bf 3 \
		-b:v "$rate" -maxrate "$rate" -bufsize "$rate" \
		-c:a aac -aac_pns 0 -b:a 32k -ac 1 \
		-metadata:s:a:0 language=eng \
		-fflags +bitexact -flags:v +bitexact -flags:a +bitexact \
		"$@" "$name"
}

# ogg NAME: 20 s of Theora, a key frame every 2 s, and Vorbis; no index.
ogg() {
	ffmpeg -y -v error \
		-f lavfi -i "testsrc2=size=192x108:rate=25:duration=20" \
		-f lavfi -i "sine=frequency=440:beep_factor=4:sample_rate=44100:duration=20" \
		-map 0:v -map 1:a \
		-c:v libtheora -threads 1 -pix_fmt yuv420p -g 50 -b:v 90k \
		-c:a libvorbis -q:a 0 -ac 1 \
		-metadata:s:a:0 language=eng \
		-fflags +bitexact -flags:v +bitexact -flags:a +bitexact \
		"$1"
}

# webm NAME: 20 s of VP9, a key frame every 2 s, and Opus.
webm() {
	ffmpeg -y -v error \
		-f lavfi -i "testsrc2=size=192x108:rate=25:duration=20" \
		-f lavfi -i "sine=frequency=440:beep_factor=4:sample_rate=48000:duration=20" \
		-map 0:v -map 1:a \
		-c:v libvpx-vp9 -threads 1 -pix_fmt yuv420p -g 50 -b:v 70k \
		-c:a libopus -b:a 24k -ac 1 \
		-metadata:s:a:0 language=eng \
		-fflags +bitexact -flags:v +bitexact -flags:a +bitexact \
		"$1"
}

mp4 movie.mp4 320x180 112k                          # the index (moov) at the end
mp4 faststart.mp4 192x108 32k -movflags +faststart  # the index in front
ogg movie.ogv
webm movie.webm
