package mp4_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/Eyevinn/mp4ff/bits"
	ffmp4 "github.com/Eyevinn/mp4ff/mp4"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// BenchmarkResolve opens a film with a moov of 1, 10 and 40 MB and plans ten
// seconds at nine tenths of it: whole, in parts, and what mp4ff takes to decode
// the same moov alone.
func BenchmarkResolve(b *testing.B) {
	for _, film := range []longFilm{{seconds: 720}, {seconds: 7000}, {seconds: 28000}} {
		source, moov := film.build()
		at := float64(film.seconds) * 0.9
		size := fmt.Sprintf("%dMB", (moov+1<<19)>>20)
		for _, way := range []struct {
			name  string
			whole int64
		}{{"whole", 1 << 40}, {"parts", 1}} {
			b.Run(size+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					source.Reset()
					w := seek.NewWindow(context.Background(), source, 0)
					m, err := mp4.Format{}.Open(b.Context(), w, formats.Env{Limits: formats.Limits{Whole: way.whole}})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := m.Plan(b.Context(), between(at, at+10)); err != nil {
						b.Fatal(err)
					}
					w.Close()
				}
				b.ReportMetric(float64(source.Delivered()), "fetched-B/op")
			})
		}
		raw := make([]byte, moov)
		if _, err := source.Content.ReadAt(raw, 32); err != nil {
			b.Fatal(err)
		}
		b.Run(size+"/mp4ff", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				box, err := ffmp4.DecodeBoxSR(0, bits.NewFixedSliceReader(raw))
				if err != nil {
					b.Fatal(err)
				}
				stbl := box.(*ffmp4.MoovBox).Traks[0].Mdia.Minf.Stbl
				if _, err := stbl.Stts.GetSampleNrAtTime(uint64(at * 60000)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
