package webm

import (
	"bytes"
	"errors"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// TestSegmentHeader: of an initialization segment, what counts another file is
// left out, and one that is damaged costs a typed error.
func TestSegmentHeader(t *testing.T) {
	ebml := appendElement(nil, idEBML, appendElement(nil, idDocType, []byte("webm")))
	info := appendFloat(appendUint(nil, idTimestampScale, 1e6), idDuration, 1000)
	tracks := appendElement(nil, idTracks, []byte{1, 2, 3})
	body := appendElement(nil, idSeekHead, []byte{1})
	body = append(append(appendElement(body, idInfo, info), tracks...), appendElement(nil, idCues, []byte{1})...)
	want := appendUnknownSize(appendID(bytes.Clone(ebml), idSegment), 8)
	want = append(appendElement(want, idInfo, appendUint(nil, idTimestampScale, 1e6)), tracks...)
	for name, init := range map[string][]byte{
		"known size":     append(bytes.Clone(ebml), appendElement(nil, idSegment, body)...),
		"unknown size":   append(appendUnknownSize(appendID(bytes.Clone(ebml), idSegment), 8), body...),
		"before Cluster": append(append(appendUnknownSize(appendID(bytes.Clone(ebml), idSegment), 8), body...), appendElement(nil, idCluster, []byte{1})...),
	} {
		got, err := segmentHeader(init)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: % x, %v; want % x", name, got, err, want)
		}
	}
	whole := append(bytes.Clone(ebml), appendElement(nil, idSegment, body)...)
	for n := range whole {
		_, err := PlanSegments(t.Context(), whole[:n], []Segment{{Data: []byte("junk")}}, formats.Selection{Interval: fragment.From(fragment.Time{})})
		if err == nil || !errors.Is(err, formats.ErrDamaged) && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%d bytes of a header: %v", n, err)
		}
	}
}

// FuzzPlanSegments plans clips of arbitrary segments: what comes of them is an
// error or a plan whose bytes are there.
func FuzzPlanSegments(f *testing.F) {
	ebml := appendElement(nil, idEBML, appendElement(nil, idDocType, []byte("webm")))
	entry := appendUint(appendUint(nil, idTrackNumber, 1), idTrackType, typeVideo)
	entry = appendElement(entry, idCodecID, []byte("V_VP8"))
	body := appendElement(nil, idInfo, appendUint(nil, idTimestampScale, 1e6))
	body = append(body, appendElement(nil, idTracks, appendElement(nil, idTrackEntry, entry))...)
	header := append(ebml, appendElement(nil, idSegment, body)...)
	segment := appendUint(nil, idTimestamp, 2000)
	segment = appendElement(segment, idSimpleBlock, []byte{0x81, 0, 0, flagKey, 0, 1, 2, 3})
	segment = appendElement(segment, idSimpleBlock, []byte{0x81, 0, 40, 0, 1, 1, 2, 3})
	segment = appendElement(nil, idCluster, segment)
	f.Add(header, segment, segment, uint16(200), uint16(10))
	f.Fuzz(func(t *testing.T, header, first, last []byte, from, length uint16) {
		between := fragment.Between(fragment.FromSeconds(float64(from)/100), fragment.FromSeconds(float64(from+length)/100+0.01))
		segments := []Segment{{Resource: &seek.Info{Name: "a"}, Data: first}, {Resource: &seek.Info{Name: "b"}, Data: last}}
		plan, err := PlanSegments(t.Context(), header, segments, formats.Selection{Interval: between})
		if err != nil {
			return
		}
		for _, q := range plan.Parts {
			if q.Resource == nil {
				continue
			}
			size := int64(len(first))
			if q.Resource.Name == "b" {
				size = int64(len(last))
			}
			if q.Offset < 0 || q.Length < 0 || q.End() > size {
				t.Fatalf("a part of %v of a segment of %d bytes", q.Range, size)
			}
		}
		SegmentTimes(t.Context(), header, first)
	})
}
