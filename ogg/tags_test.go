package ogg_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestTags: what comments say is listed as ffprobe lists it, and pictures, however
// they are stored, are named as attached and not told as text.
func TestTags(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe", "flac", "opusenc", "oggenc")
	wav := sound(t, 48000, 1, 2)
	cover := cached("cover.png", func(path string) {
		oracle.FFmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=32x32:d=1", "-frames:v", "1", path)
	})
	size := int64(len(mustRead(t, cover)))
	picture := []formats.Attachment{{Name: "front cover", MediaType: "image/png", Description: "of the test", Size: size}}
	spec := "3|image/png|of the test|32x32x24|" + cover
	tests := []struct {
		name     string
		make     func(path string)
		pictures []formats.Attachment
	}{
		{"a.opus", func(path string) {
			oracle.Run(t, "opusenc", "--quiet", "--title", "Ä talk", "--comment", "odd=a=b", "--picture", spec, wav, path)
		}, picture},
		{"a.oga", func(path string) {
			oracle.Run(t, "flac", "--ogg", "-s", "-f", "-T", "TITLE=Ä talk", "-T", "odd=a=b", "--picture", spec, "-o", path, wav)
		}, picture},
		{"a.ogg", func(path string) { oracle.Run(t, "oggenc", "-Q", "-t", "Ä talk", "-c", "odd=a=b", "-o", path, wav) }, nil},
		{"a.spx", func(path string) {
			oracle.FFmpeg(t, "-i", wav, "-c:a", "libspeex", "-ar", "16000", "-metadata", "title=Ä talk", "-metadata", "odd=a=b", "-f", "ogg", path)
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), tt.name)
			tt.make(path)
			info := mustOpen(t, path).Info()
			if !slices.Equal(info.Attachments, tt.pictures) {
				t.Errorf("attached: %+v, want %+v", info.Attachments, tt.pictures)
			}
			var got []string
			for _, tag := range info.Tags {
				got = append(got, strings.ToLower(tag.Name)+"="+tag.Value)
				if tag.Track != "" || tag.Chapter != "" {
					t.Errorf("%+v is not about the whole", tag)
				}
			}
			if want := probeTags(t, path); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
				t.Errorf("%q, ffprobe says %q", got, want)
			}
		})
	}
	o := mustOpenBytes(t, slices.Concat(mustRead(t, "testdata/theora-vorbis.ogv"), mustRead(t, "testdata/vorbis.ogg")))
	info, err := o.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]bool{}
	for _, tag := range info.Tags {
		about[tag.Chapter+"/"+tag.Track] = true
	}
	if len(about) != 3 || !about["link1/1"] || !about["link1/2"] || !about["link2/"] {
		t.Errorf("tags are about %v", about)
	}
}

// probeTags returns the tags of a file's sound as ffprobe tells them, sorted.
func probeTags(t testing.TB, path string) (tags []string) {
	t.Helper()
	var doc struct {
		Streams []struct {
			Type string `json:"codec_type"`
			Tags map[string]string
		}
	}
	raw := oracle.Run(t, "ffprobe", "-v", "error", "-show_streams", "-of", "json", path)
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Streams {
		for name, value := range s.Tags {
			if s.Type == "audio" {
				tags = append(tags, fmt.Sprintf("%s=%s", strings.ToLower(name), value))
			}
		}
	}
	slices.Sort(tags)
	return tags
}
