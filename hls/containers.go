package hls

import (
	"bytes"

	"github.com/mediafrag/mediafrag/internal/audioframe"
	"github.com/mediafrag/mediafrag/internal/mpegts"
)

// Containers of segments, by the word that errors and rewriters have for them.
const (
	transportStream = "transport stream"
	fragmentedMP4   = "fragmented MP4"
	webMedia        = "WebM"
	packedAudio     = "packed audio"
	webVTT          = "WebVTT"
)

// sniffed is how many bytes of a segment tell its container.
const sniffed = 4 << 10

// containerOf returns the container that a segment's first bytes are of, "" for
// none that HLS has.
func containerOf(head []byte) string {
	text := bytes.TrimPrefix(head, []byte("\ufeff"))
	switch {
	case mpegts.Is(head):
		return transportStream
	case bytes.HasPrefix(text, []byte("WEBVTT")):
		return webVTT
	case bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")), bytes.HasPrefix(head, []byte("\x1f\x43\xb6\x75")):
		return webMedia
	case len(head) >= 8 && isBox(string(head[4:8])):
		return fragmentedMP4
	case bytes.HasPrefix(head, []byte("ID3")):
		return packedAudio
	}
	if _, ok := audioframe.Parse(head); ok {
		return packedAudio
	}
	return ""
}

// isBox reports whether a box of this type may begin a segment.
func isBox(name string) bool {
	switch name {
	case "ftyp", "styp", "moof", "moov", "sidx", "emsg", "prft", "free", "skip", "mdat", "ssix", "uuid":
		return true
	}
	return false
}

// mediaTypes are those of clips.
var mediaTypes = map[string]string{
	transportStream: "video/mp2t", fragmentedMP4: "video/mp4", webMedia: "video/webm", webVTT: "text/vtt",
	audioframe.AAC: "audio/aac", audioframe.MPEGAudio: "audio/mpeg", audioframe.AC3: "audio/ac3", audioframe.EAC3: "audio/eac3",
}
