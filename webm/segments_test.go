package webm

import (
	"bytes"
	"errors"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
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
