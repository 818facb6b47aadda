package webm_test

import (
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
	"github.com/mediafrag/mediafrag/webm"
)

// fourHours is a film of four hours of 1 Mbit/s with a keyframe and a Cluster
// each 0.72 s, 20,000 in all. Its clusters are made as they are read.
func fourHours(points bool) *seektest.Source {
	const clusters, gop = 20_000, 18
	f := film{gop: gop, bytes: 5000}
	w := &written{film: f}
	var blocks []byte
	for i := range gop {
		blocks = append(blocks, f.block(1, shot{int64(i) * 40, i == 0, content('v', i, f.bytes)}, 0)...)
		for j := range 2 {
			frame := content('a', 2*i+j, 160)
			frame[0] = 31 << 3
			blocks = append(blocks, f.block(2, shot{int64(i)*40 + int64(j)*20, true, frame}, 0)...)
		}
	}
	cluster := el(0x1F43B675, el(0xE7, make([]byte, 4)), blocks)
	stamp := len(cluster) - len(blocks) - 4

	header := el(0x1A45DFA3, el(0x4282, []byte("matroska")))
	info := el(0x1549A966, num(0x2AD7B1, 1e6), float(0x4489, clusters*gop*40), el(0x4D80, []byte("libmatroska")))
	front := slices.Concat(info, w.tracks())
	seekHead := el(0x114D9B74, seekTo(0x1C53BB6B, 0))
	base := int64(len(seekHead) + len(front)) // of the first cluster, in the Segment
	end := base + clusters*int64(len(cluster))
	var cues []byte
	if points {
		seekHead = el(0x114D9B74, seekTo(0x1C53BB6B, end))
		var all []point
		for i := range int64(clusters) {
			all = append(all, point{i * gop * 40, base + i*int64(len(cluster)), -1, 1})
		}
		cues = cuesOf(all)
	}
	total := end + int64(len(cues))
	start := slices.Concat(header, id(0x18538067), size(total, 8), seekHead, front)
	first := int64(len(start))
	fill := seektest.Fill(func(p []byte, off int64) {
		for n := range p {
			at := off + int64(n) - first
			if at < 0 {
				continue
			}
			i, k := at/int64(len(cluster)), int(at%int64(len(cluster)))
			p[n] = cluster[k]
			if k >= stamp && k < stamp+4 {
				p[n] = byte(i * gop * 40 >> (8 * (stamp + 3 - k)))
			}
		}
	})
	content := seektest.Sparse(fill, seektest.Piece{Offset: 0, Data: start}, seektest.Piece{Offset: first + end - base, Data: cues})
	return seektest.Virtual(first-base+total, content)
}

func BenchmarkFourHours(b *testing.B) {
	for _, index := range []string{"20,000-points", "none"} {
		b.Run(index, func(b *testing.B) {
			src := fourHours(index != "none")
			b.ReportAllocs()
			var bytes, requests int
			for n := 0; b.Loop(); n++ {
				totals := &seek.Totals{}
				src.Observer = totals
				src.Reset()
				w := seek.NewWindow(b.Context(), src, 0)
				const edge = 64 << 10
				w.Read(b.Context(), seek.Request{Range: seek.Range{Length: edge}, Purpose: seek.Head}, seek.Request{Range: seek.Suffix(edge), Purpose: seek.Tail})
				m, err := webm.Format{}.Open(b.Context(), w, formats.Env{})
				if err != nil {
					b.Fatal(err)
				}
				at := float64(1000 + n*977%12000)
				if _, err := m.Plan(b.Context(), seconds(at, at+10)); err != nil {
					b.Fatal(err)
				}
				w.Close()
				got := totals.Transfer()
				bytes, requests = bytes+int(got.Bytes), requests+got.Requests
			}
			b.ReportMetric(float64(requests)/float64(b.N), "requests/op")
			b.ReportMetric(float64(bytes)/float64(b.N), "fetched-B/op")
		})
	}
}
