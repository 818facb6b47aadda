package formats_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

func TestErrors(t *testing.T) {
	tests := []struct {
		err  error
		text string
		is   error
	}{
		{
			&formats.Error{Container: "mp4", Element: "moov/trak", Offset: 40, Problem: "size 7 is less than a header", Hint: "try --form verbatim", Err: formats.ErrDamaged},
			"mp4 moov/trak at byte 40: damaged: size 7 is less than a header; try --form verbatim", formats.ErrDamaged,
		},
		{&formats.Error{Container: "ogg", Offset: -1, Err: formats.ErrUnsupported}, "ogg: not supported", formats.ErrUnsupported},
		{&formats.Error{Container: "webm", Offset: 0, Problem: "x", Err: seek.ErrLimit}, "webm at byte 0: limit reached: x", seek.ErrLimit},
		{
			&formats.PastEndError{Start: fragment.Seconds(12), Duration: sec("10.5")},
			"the interval begins at 12 s, at or past the end of the medium: it lasts 10.5 s", formats.ErrPastEnd,
		},
		{
			&formats.TrackError{ID: "9", Have: []formats.Track{{ID: "1", Kind: formats.Video}, {ID: "2", Kind: formats.Audio}}},
			"no such track: 9; there are 1 (video) 2 (audio)", formats.ErrNoTrack,
		},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.text {
			t.Errorf("%q, want %q", got, tt.text)
		}
		if !errors.Is(fmt.Errorf("opening: %w", tt.err), tt.is) {
			t.Errorf("%v is not %v", tt.err, tt.is)
		}
	}
}
