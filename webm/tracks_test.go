package webm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/fragment"
)

// TestSecondPictures: each track of pictures begins with a keyframe of its own at
// or before the interval, and all keep step.
func TestSecondPictures(t *testing.T) {
	for _, tt := range []struct {
		name        string
		film        film
		main, other int64 // ms: the keyframes that they begin with
	}{
		{"keyframes amid those of the first", film{second: 50}, 8000, 9000},
		{"keyframes further apart", film{second: 250}, 8000, 5000},
		{"a larger film", film{second: 250, bytes: 10_000}, 8000, 5000},
		{"a larger film, keyframes amid those of the first", film{second: 50, bytes: 10_000}, 8000, 9000},
		{"no cues", film{second: 250, index: "none"}, 8000, 5000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.film.seconds = 40
			w := tt.film.write()
			_, data := mustOpen(t, w.data).Clip(t, seconds(9.013, 13.513))
			got := readBack(t, data)
			zero := min(tt.main, tt.other)
			for _, track := range []struct {
				name  string
				shots []shot
				from  int64
				n     int64
			}{{"main", got.pictures, tt.main, (13513-tt.main)/40 + 1}, {"other", got.others, tt.other, (13513-tt.other)/40 + 1}} {
				if len(track.shots) == 0 || !track.shots[0].key {
					t.Errorf("%s does not begin with a keyframe", track.name)
					continue
				}
				if at := track.shots[0].at; at != track.from-zero || int64(len(track.shots)) != track.n {
					t.Errorf("%s has %d pictures from %d on, want %d from %d", track.name, len(track.shots), at, track.n, track.from-zero)
				}
			}
		})
	}
}

// TestSecondPicturesLate: a further track of pictures whose keyframe lies so far in
// front that it is not fetched begins later, and a warning says when.
func TestSecondPicturesLate(t *testing.T) {
	w := film{seconds: 60, second: 2500, bytes: 8000}.write() // at 50 s, of the second
	plan, data := mustOpen(t, w.data).Clip(t, seconds(49.5, 52))
	if got := readBack(t, data); len(got.others) == 0 || got.others[0].at != 2000 || !got.others[0].key {
		t.Errorf("the other track does not begin with its keyframe")
	}
	if !strings.Contains(fmt.Sprint(plan.Warnings), "track 3 begins at 50 s") {
		t.Errorf("warnings %v", plan.Warnings)
	}
	plan, _ = mustOpen(t, w.data).Clip(t, seconds(40.5, 52))
	if !strings.Contains(fmt.Sprint(plan.Warnings), "track 3 begins later") {
		t.Errorf("warnings %v", plan.Warnings)
	}
	plan, _ = mustOpen(t, w.data).Clip(t, seconds(50, 52))
	if slices.ContainsFunc(plan.Warnings, func(w fragment.Warning) bool { return strings.Contains(w.Reason, "track 3") }) {
		t.Errorf("with a keyframe: warnings %v", plan.Warnings)
	}
}
