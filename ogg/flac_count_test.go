package ogg_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestFlacCount: GStreamer's FLAC counts one header packet more than there are. The
// last of them says so itself, and no frame is taken for one.
func TestFlacCount(t *testing.T) {
	tools.Need(t, "flac")
	path := "testdata/flac.oga"
	pages := oggPages(t, mustRead(t, path))
	count := pages[0].body[7:9]
	binary.BigEndian.PutUint16(count, binary.BigEndian.Uint16(count)+1)
	var data []byte
	for _, p := range pages {
		data = append(data, p.bytes()...)
	}
	decode := func(path string) []byte {
		return oracle.Run(t, "flac", "-d", "-s", "-c", "--force-raw-format", "--endian=little", "--sign=signed", path)
	}
	o := mustOpenBytes(t, data)
	plan, clip := o.cut(t, between(0.25, 0.6))
	rate := int64(o.Info().Tracks[0].SampleRate)
	from, to := int(plan.Covered.Start.Round(rate)), int(plan.Covered.End.Round(rate))
	got, all := decode(clip), decode(path)
	frame := len(all) / int(o.Info().Duration.Round(rate)) // bytes of a sample of all channels
	if from == 0 || !bytes.Equal(got, all[frame*from:frame*to]) {
		t.Errorf("flac: %d samples that are not the %d covered", len(got)/frame, to-from)
	}
}
