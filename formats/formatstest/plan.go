package formatstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// checkDetected asserts that the container knows its own by the bytes alone, or
// at least by name and type, and nothing else.
func checkDetected(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		head, _ := m.window.Held(seek.Range{Length: edge})
		if f, err := formats.Detect(head, m.window.Info(), []formats.Format{c.Format}); err != nil || f.Name() != c.Format.Name() {
			return fmt.Errorf("not recognised: %w", err)
		}
		for _, other := range [][]byte{nil, make([]byte, edge), bytes.Repeat([]byte("no such container\n"), 3000)} {
			if c.Format.Detect(other, seek.Info{Size: int64(len(other))}) {
				return fmt.Errorf("recognised as %s: %d bytes that begin with %q", c.Format.Name(), len(other), other[:min(len(other), 20)])
			}
		}
		return nil
	})
}

// checkInfo asserts that what is said of the medium is in itself consistent,
// and that Inspect takes nothing back.
func checkInfo(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		info := m.Info()
		all, err := m.Inspect(ctx)
		if err != nil {
			return fmt.Errorf("inspecting: %w", err)
		}
		for _, i := range []formats.Info{info, all} {
			if err := infoWrong(c.Format, i); err != nil {
				return err
			}
		}
		if info.Timed && !(all.Timed && (info.Estimated || all.Duration.Equal(info.Duration))) || trackIDs(all.Tracks) != trackIDs(info.Tracks) || all.MediaType != info.MediaType {
			return fmt.Errorf("Inspect contradicts Info: %+v and %+v", all, info)
		}
		return nil
	})
}

func infoWrong(f formats.Format, i formats.Info) error {
	var wrong []error
	note := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf("info: "+format, args...))
		}
	}
	note(i.Format != f.Name(), "format %q, want %q", i.Format, f.Name())
	note(i.MediaType == "", "no media type")
	note(i.Timed && i.Duration.Sign() < 0, "duration %s", i.Duration)
	note(len(i.Tracks) == 0, "no tracks")
	seen := map[string]bool{}
	for _, t := range i.Tracks {
		note(t.ID == "" || seen[t.ID], "track ID %q is empty or there twice", t.ID)
		seen[t.ID] = true
		note(!slices.Contains([]formats.Kind{formats.Video, formats.Audio, formats.Subtitle, formats.Metadata, formats.Other}, t.Kind), "track %s: kind %q", t.ID, t.Kind)
	}
	for _, ch := range i.Chapters {
		note(!ch.Open && ch.End.Less(ch.Start), "chapter %q: %s", ch.Title, ch.Interval)
	}
	return errors.Join(wrong...)
}

func trackIDs(tracks []formats.Track) string {
	var ids []string
	for _, t := range tracks {
		ids = append(ids, t.ID)
	}
	return fmt.Sprintf("%q", ids)
}

// checkPlans asserts what holds of every plan.
func checkPlans(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		return c.each(ctx, m, func(s formats.Selection, p *formats.Plan) error {
			return errors.Join(partsWrong(m, p), timesWrong(m.Info(), s, p), tracksWrong(m.Info(), s, p), plainWrong(p))
		})
	})
}

// literalMost is how many bytes of literals a plan may have: so much, and as
// much as it has bytes of resources.
const literalMost = 1 << 20

// partsWrong says what is wrong with the parts of a plan: their ranges, sizes
// and resources.
func partsWrong(m *medium, p *formats.Plan) error {
	var wrong []error
	note := func(bad bool, i int, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf("part %d (%s): "+format, append([]any{i, p.Parts[i].Note}, args...)...))
		}
	}
	var size, literal int64
	unsized := false
	resources := map[string]seek.Info{}
	for i, part := range p.Parts {
		size += max(part.Size, 0)
		unsized = unsized || part.Size < 0
		if part.Resource == nil {
			literal += int64(len(part.Literal))
			note(part.Size != int64(len(part.Literal)), i, "size %d of %d literal bytes", part.Size, len(part.Literal))
			note(part.Rewrite != nil, i, "literal bytes with a rewriter")
			continue
		}
		of := *part.Resource
		note(part.Literal != nil, i, "both literal and range")
		note(part.Offset < 0 || !part.Closed() && part.Size >= 0, i, "range %s is not closed", part.Range)
		note(part.Closed() && of.Size >= 0 && part.End() > of.Size, i, "range %s ends behind %s of %d bytes", part.Range, of.Name, of.Size)
		note(part.Rewrite == nil && part.Closed() && part.Size != part.Length, i, "size %d of %d bytes", part.Size, part.Length)
		note(part.Rewrite != nil && part.Rewrite.Name() == "", i, "rewriter without a name")
		note(part.Purpose == "", i, "range without a purpose")
		if first, ok := resources[of.Name]; ok && first != of {
			note(true, i, "%+v and before %+v", of, first)
		}
		resources[of.Name] = of
		if own := m.window.Info(); of.Name == own.Name {
			note(of.Validator != own.Validator || of.Size != own.Size, i, "resource %+v, want %+v", of, own)
		}
	}
	if unsized {
		size = -1
	}
	if p.Size != size {
		wrong = append(wrong, fmt.Errorf("size %d, but the parts have %d", p.Size, size))
	}
	if literal > literalMost+max(0, p.Size-literal) {
		wrong = append(wrong, fmt.Errorf("%d literal bytes of %d", literal, p.Size))
	}
	if p.Needed < 0 || p.Needed == 0 && p.Size >= 0 && literal != size {
		wrong = append(wrong, fmt.Errorf("needs %d bytes", p.Needed))
	}
	return errors.Join(wrong...)
}

// timesWrong says what is wrong with the intervals of a plan.
func timesWrong(info formats.Info, s formats.Selection, p *formats.Plan) error {
	var wrong []error
	for _, named := range []struct {
		name string
		fragment.Interval
	}{{"requested", p.Requested}, {"presented", p.Presented}, {"covered", p.Covered}} {
		if named.Open && info.Timed || !named.Open && named.End.Less(named.Start) {
			wrong = append(wrong, fmt.Errorf("%s: %s", named.name, named.Interval))
		}
	}
	want := s.Interval
	if info.Timed {
		want = want.Clamp(info.Duration)
	}
	if !cmp.Equal(p.Requested, want) {
		wrong = append(wrong, fmt.Errorf("requested %s, want %s", p.Requested, want))
	}
	// Samples may end before the medium is said to.
	covered := p.Covered
	if info.Timed && !covered.End.Less(p.Requested.End.Sub(lastSample)) && p.Requested.End.Equal(info.Duration) {
		covered.End = covered.End.Max(info.Duration)
	}
	if !within(p.Requested, covered) {
		wrong = append(wrong, fmt.Errorf("requested %s, but covered is %s", p.Requested, p.Covered))
	}
	return errors.Join(wrong...)
}

// lastSample is by how much the last sample may end before the medium.
var lastSample = fragment.Ticks(1, 2)

// within reports whether a lies in b.
func within(a, b fragment.Interval) bool {
	return a.Empty() || !a.Start.Less(b.Start) && (b.Open || !a.Open && !b.End.Less(a.End))
}

// tracksWrong says what is wrong with the tracks of a plan.
func tracksWrong(info formats.Info, s formats.Selection, p *formats.Plan) error {
	want, err := formats.Chosen(info.Tracks, s)
	if err != nil {
		return err
	}
	chosen := map[string]bool{}
	for _, t := range want {
		chosen[t.ID] = true
	}
	for _, t := range p.Tracks {
		if !chosen[t.ID] {
			return fmt.Errorf("track %s is in the plan, but %s are selected", t.ID, trackIDs(want))
		}
		delete(chosen, t.ID)
	}
	if len(s.Tracks) > 0 && len(chosen) > 0 || len(p.Tracks) == 0 {
		return fmt.Errorf("tracks %s are in the plan, but %s are selected", trackIDs(p.Tracks), trackIDs(want))
	}
	return nil
}

// plainWrong says what keeps a plan from being plain data.
func plainWrong(p *formats.Plan) error {
	if _, err := json.Marshal(p); err != nil {
		return fmt.Errorf("as JSON: %w", err)
	}
	for i, part := range p.Parts {
		if part.Rewrite == nil {
			continue
		}
		t := reflect.TypeOf(part.Rewrite)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return fmt.Errorf("part %d: rewriter %s is a %s, not a struct", i, part.Rewrite.Name(), t.Kind())
		}
		for _, f := range reflect.VisibleFields(t) {
			if !f.IsExported() {
				return fmt.Errorf("part %d: rewriter %s has a field that is not exported, %s", i, part.Rewrite.Name(), f.Name)
			}
		}
	}
	return nil
}

// checkRepeated asserts that a selection has the same plan again, from the
// medium that has planned others meanwhile, and that the first is not touched.
func checkRepeated(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		var first []*formats.Plan
		var printed [][]byte
		err := c.each(ctx, m, func(s formats.Selection, p *formats.Plan) error {
			text, err := json.Marshal(p)
			first, printed = append(first, p), append(printed, text)
			return err
		})
		n := 0
		return errors.Join(err, c.each(ctx, m, func(s formats.Selection, p *formats.Plan) error {
			defer func() { n++ }()
			if text, _ := json.Marshal(first[n]); !bytes.Equal(text, printed[n]) {
				return errors.New("the plan changed after it was made")
			}
			return diffWrong(first[n], p)
		}))
	})
}

// checkDelayed asserts that plans of a medium that was opened anew are the same,
// however long each answer took, whatever was selected before.
func checkDelayed(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		slow, err := c.open(ctx, dawdling)
		if err != nil {
			return fmt.Errorf("opening slowly: %w", err)
		}
		defer slow.close()
		backwards := c
		backwards.Selections = slices.Clone(c.Selections)
		slices.Reverse(backwards.Selections)
		return backwards.each(ctx, slow, func(s formats.Selection, p *formats.Plan) error { return samePlan(ctx, m, s, p) })
	})
}

// checkConcurrent asserts that plans are the same that are made at one time.
func checkConcurrent(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		slow, err := c.open(ctx, dawdling)
		if err != nil {
			return fmt.Errorf("opening slowly: %w", err)
		}
		defer slow.close()
		var wg sync.WaitGroup
		wrong := make([]error, 4)
		for i := range wrong {
			turned := c
			turned.Selections = append(slices.Clone(c.Selections[i%len(c.Selections):]), c.Selections[:i%len(c.Selections)]...)
			wg.Go(func() {
				wrong[i] = turned.each(ctx, slow, func(s formats.Selection, p *formats.Plan) error { return samePlan(ctx, m, s, p) })
			})
		}
		wg.Wait()
		return errors.Join(wrong...)
	})
}

// samePlan compares a plan with that of another medium.
func samePlan(ctx context.Context, other *medium, s formats.Selection, p *formats.Plan) error {
	q, err := other.Plan(ctx, s)
	if err != nil {
		return err
	}
	return diffWrong(q, p)
}

func diffWrong(want, got *formats.Plan) error {
	// Literals whole: element by element takes long where they are large.
	literals := cmp.FilterValues(func(a, b []byte) bool { return len(a) > 0 || len(b) > 0 }, cmp.Comparer(bytes.Equal))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), literals); diff != "" {
		return fmt.Errorf("another plan (-first +then):\n%s", diff)
	}
	return nil
}

// checkPastEnd asserts that an interval which begins at or after the end is
// ErrPastEnd, and one that ends there is not.
func checkPastEnd(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		info := m.Info()
		if !info.Timed {
			return nil
		}
		end := info.Duration
		for _, i := range []fragment.Interval{
			fragment.From(end), fragment.Between(end, end.Add(fragment.Seconds(1))), fragment.From(end.Add(fragment.Ticks(1, 1000))),
			fragment.Between(fragment.Seconds(1<<60), fragment.Seconds(1<<61)), fragment.From(fragment.Seconds(1 << 62)),
		} {
			if _, err := m.Plan(ctx, formats.Selection{Interval: i}); !errors.Is(err, formats.ErrPastEnd) {
				return fmt.Errorf("%s of %s s: %v, want %w", i, end, err, formats.ErrPastEnd)
			}
		}
		last := fragment.Between(end.Sub(end.Min(fragment.Ticks(1, 10))), end.Add(fragment.Seconds(1<<61)))
		if end.Sign() == 0 {
			return nil
		}
		if _, err := m.Plan(ctx, formats.Selection{Interval: last}); err != nil {
			return fmt.Errorf("%s of %s s: %w", last, end, err)
		}
		return nil
	})
}

// checkUnknownTrack asserts that a track that does not exist is ErrNoTrack,
// beside one that does, too.
func checkUnknownTrack(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		for _, names := range [][]string{{"no such track"}, {m.Info().Tracks[0].ID, "no such track"}} {
			s := c.Selections[0]
			s.Tracks = names
			if _, err := m.Plan(ctx, s); !errors.Is(err, formats.ErrNoTrack) {
				return fmt.Errorf("tracks %q: %v, want %w", names, err, formats.ErrNoTrack)
			}
		}
		return nil
	})
}
