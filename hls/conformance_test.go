package hls

import (
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/formats/formatstest"
)

// TestConformance has presentations of each kind pass the suite of all
// containers.
func TestConformance(t *testing.T) {
	for _, test := range []struct{ name, dir, list string }{
		{"transport streams", tsPresentation(t), "media.m3u8"},
		{"encrypted", encryptedPresentation(t), "media.m3u8"},
		{"fragmented MP4", fmp4Presentation(t), "media.m3u8"},
		{"sound and pictures apart", masterPresentation(t), "master.m3u8"},
		{"a collection's", filepath.Join(owned, "shaka-interstitial"), "main.m3u8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrigin()
			o.putFolder(t, "https://host.test/c", test.dir)
			for _, s := range o.sources { // the suite asks often
				s.Latency = 0
			}
			formatstest.Run(t, formatstest.Case{
				Format: Format{}, Source: o.sources["https://host.test/c/"+test.list], Opener: o,
				Selections: []formats.Selection{between(0, -1), between(5, 7), between(9.513, 13.207), between(4, 8)},
			})
		})
	}
}
