package ogg

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

// overhang returns a file whose pictures end at once, and whose sound goes on in
// small pages.
func overhang(t *testing.T) (out []byte) {
	t.Helper()
	samples := samplePages(t)
	var video, data []page
	for _, p := range scanPages(samples["theora-vorbis.ogv"], 0, true).pages {
		switch {
		case p.serial != 1:
		case len(video) < 2:
			video = append(video, p)
		case len(data) < 2:
			data = append(data, p)
		}
	}
	data[1].flags |= flagEOS
	var sound []packet
	join := assembler{limit: maxPacket}
	for _, p := range scanPages(samples["opus.opus"], 0, true).pages {
		packets, _ := join.add(&p)
		sound = append(sound, packets...)
	}
	put := func(p page) { out = appendPage(out, p.flags, p.granule, p.serial, p.seq, p.lacing, p.body) }
	w := &pageWriter{serial: 2, granule: noGranule}
	write := func(granule int64, flags byte, packets ...packet) {
		for _, q := range packets {
			out = w.add(out, piece{data: q.data, begins: true, ends: true}, granule)
		}
		out = w.flush(out, granule, flags)
	}
	put(video[0])
	write(0, flagBOS, sound[0])
	put(video[1])
	write(0, 0, sound[1])
	put(data[0])
	put(data[1])
	var granule int64
	for rest := sound[2:]; len(rest) > 0; {
		n := min(5, len(rest))
		for _, q := range rest[:n] {
			granule += (*opus)(nil).length(q.data)
		}
		write(granule, eosIf(n == len(rest)), rest[:n]...)
		rest = rest[n:]
	}
	return out
}

// TestOverhang: pictures that end among the clip's first pages do not end the
// sound.
func TestOverhang(t *testing.T) {
	tools.Need(t, "oggz-validate")
	m, source := mustOpenMedia(t, overhang(t))
	p, err := m.Plan(t.Context(), formats.Selection{Interval: fragment.Between(fragment.FromSeconds(1), fragment.FromSeconds(1.3))})
	if err != nil {
		t.Fatal(err)
	}
	r := seek.NewReader(t.Context(), p.Parts, source, 0)
	defer r.Close()
	clip, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "clip.ogv")
	if err := os.WriteFile(path, clip, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := oracle.Run(t, "oggz-validate", path); len(out) > 0 {
		t.Errorf("%s", out)
	}
	got, _ := mustOpenMedia(t, clip)
	if d := got.Info().Duration.Sub(p.Presented.End).Seconds(); d < -1e-3 || d > 1e-3 {
		t.Errorf("the clip lasts %v, presented is until %v", got.Info().Duration, p.Presented.End)
	}
}
