package seektest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/seek"
)

func ask(r seek.Range) seek.Request { return seek.Request{Range: r, Purpose: seek.Media} }

func read(t *testing.T, s *Source, r seek.Range) ([]byte, error) {
	t.Helper()
	b, err := s.Open(t.Context(), ask(r))
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return io.ReadAll(b)
}

func TestRanges(t *testing.T) {
	tests := []struct {
		r    seek.Range
		want string
	}{
		{seek.Range{Offset: 0, Length: 3}, "012"},
		{seek.Range{Offset: 8, Length: 5}, "89"},
		{seek.Range{Offset: 7, Length: seek.ToEnd}, "789"},
		{seek.Suffix(2), "89"},
		{seek.Suffix(20), "0123456789"},
		{seek.Range{Offset: 10, Length: 1}, ""},
		{seek.Range{Offset: 99, Length: seek.ToEnd}, ""},
	}
	s := New([]byte("0123456789"))
	for _, tt := range tests {
		if got, err := read(t, s, tt.r); string(got) != tt.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", tt.r, got, err, tt.want)
		}
	}
	if got := s.Delivered(); got != 20 {
		t.Errorf("delivered %d bytes, want 20", got)
	}
	if got := s.MaxConcurrent(); got != 1 {
		t.Errorf("%d at a time, want 1", got)
	}
	if got := s.Unfinished(); got != 0 {
		t.Errorf("%d unfinished", got)
	}
}

func TestRefusals(t *testing.T) {
	s := New(make([]byte, 10))
	s.NoSuffix = true
	if _, err := read(t, s, seek.Suffix(2)); !errors.Is(err, seek.ErrNoRanges) {
		t.Errorf("suffix: %v", err)
	}
	s.NoRanges = true
	if _, err := read(t, s, seek.Range{Offset: 1, Length: 2}); !errors.Is(err, seek.ErrNoRanges) {
		t.Errorf("range: %v", err)
	}
	if got, err := read(t, s, seek.Range{Length: seek.ToEnd}); len(got) != 10 || err != nil {
		t.Errorf("whole: %d bytes, %v", len(got), err)
	}
	if _, err := (Opener{"a": s}).OpenSource(t.Context(), "b"); !errors.Is(err, seek.ErrNotFound) {
		t.Errorf("unknown name: %v", err)
	}
}

func TestFaults(t *testing.T) {
	broken := errors.New("broken")
	whole := seek.Range{Length: seek.ToEnd}
	fault := Fault{}
	s := New([]byte("0123456789"))
	s.Fault = func(context.Context, int, seek.Request) Fault { return fault }

	fault = Fault{Err: broken}
	if _, err := read(t, s, whole); err != broken {
		t.Errorf("no answer: %v", err)
	}
	fault = BreakAfter(4, broken)
	if got, err := read(t, s, whole); string(got) != "0123" || err != broken {
		t.Errorf("broken: %q, %v", got, err)
	}
	fault = BreakAfter(4, nil)
	if got, err := read(t, s, whole); string(got) != "0123" || err != nil {
		t.Errorf("silently short: %q, %v", got, err)
	}

	stall := make(chan struct{})
	fault = Fault{Stall: stall, StallAt: 4}
	b, err := s.Open(t.Context(), ask(whole))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if n, err := b.Read(make([]byte, 10)); n != 4 || err != nil {
		t.Errorf("before the stall: %d bytes, %v", n, err)
	}
	close(stall)
	if rest, err := io.ReadAll(b); string(rest) != "456789" || err != nil {
		t.Errorf("after the stall: %q, %v", rest, err)
	}
}

func TestChange(t *testing.T) {
	s := New([]byte("old"))
	read(t, s, seek.Suffix(1))
	s.Change(5, bytes.NewReader([]byte("newer")), `"2"`)
	if _, err := read(t, s, seek.Suffix(1)); !errors.Is(err, seek.ErrChanged) {
		t.Errorf("changed: %v", err)
	}
	s.Growing = true
	if got, err := read(t, s, seek.Suffix(2)); string(got) != "er" || err != nil {
		t.Errorf("growing: %q, %v", got, err)
	}
}

func TestVirtualContent(t *testing.T) {
	const size = 1 << 40
	s := Virtual(size, Sparse(Fill(Pattern), Piece{size - 3, []byte("end")}, Piece{5, []byte("five")}))
	got, err := read(t, s, seek.Range{Offset: 3, Length: 8})
	want := PatternBytes(3, 8)
	copy(want[2:], "five")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got, err := read(t, s, seek.Suffix(3)); string(got) != "end" || err != nil {
		t.Errorf("end: %q, %v", got, err)
	}
	if got, err := read(t, Virtual(size, Sparse(nil)), seek.Suffix(3)); string(got) != "\x00\x00\x00" || err != nil {
		t.Errorf("nothing below: %q, %v", got, err)
	}
}

func TestEvents(t *testing.T) {
	var totals seek.Totals
	a, b := New(make([]byte, 10)), New(make([]byte, 10))
	a.Observer, b.Observer = &totals, &totals
	one, err := a.Open(t.Context(), ask(seek.Range{Length: 10}))
	if err != nil {
		t.Fatal(err)
	}
	read(t, b, seek.Range{Length: 3})
	io.Copy(io.Discard, one)
	one.Close()
	read(t, a, seek.Range{Length: 2})
	got := totals.Transfer()
	if got.Requests != 3 || got.Connections != 2 || got.RoundTrips != 3 || got.FirstMediaTrips != 1 || got.Bytes != 15 {
		t.Errorf("%+v", got)
	}
}
