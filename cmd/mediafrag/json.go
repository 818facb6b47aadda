package main

import (
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// The JSON of `get`, `plan`, `info` and `bench` is an interface: keys are added,
// never renamed. What is not known or does not apply is null.

// clipJSON is what `get --json` and `plan --json` print.
type clipJSON struct {
	URI       string            `json:"uri"`
	MediaType string            `json:"media_type"`
	Format    string            `json:"format"`
	Requested fragment.Interval `json:"requested"`
	Presented fragment.Interval `json:"presented"`
	Covered   fragment.Interval `json:"covered"`
	Duration  *fragment.Time    `json:"duration"`
	Tracks    []trackJSON       `json:"tracks"`
	Region    any               `json:"region"` // not read yet: null
	Parts     []any             `json:"parts"`  // literalJSON and rangeJSON
	Output    outputJSON        `json:"output"`
	Transfer  transferJSON      `json:"transfer"`
	Warnings  []string          `json:"warnings"`
}

type outputJSON struct {
	File  *string `json:"file"`
	Bytes *int64  `json:"bytes"`
}

type trackJSON struct {
	ID       string  `json:"id"`
	Kind     string  `json:"kind"`
	Codec    *string `json:"codec"`
	Language *string `json:"language"`
	Name     *string `json:"name"`
	Width    *int    `json:"width"`
	Height   *int    `json:"height"`
}

type literalJSON struct {
	Literal int64   `json:"literal"`
	Why     string  `json:"why"`
	Data    *[]byte `json:"data,omitempty"` // with --full; base64
}

type rangeJSON struct {
	URL     string  `json:"url"`
	Offset  int64   `json:"offset"`
	Length  *int64  `json:"length"`
	Why     string  `json:"why"`
	Rewrite *string `json:"rewrite"`
	*pinJSON
}

// pinJSON is what reading a plan elsewhere needs beside its ranges, printed
// with --full.
type pinJSON struct {
	Validator *string       `json:"validator"`
	Size      *int64        `json:"size"`     // of the resource
	Rewriter  seek.Rewriter `json:"rewriter"` // the fields of rewrite
}

type transferJSON struct {
	Requests        int            `json:"requests"`
	Connections     int            `json:"connections"`
	RoundTrips      int            `json:"round_trips"`
	FirstMediaTrips *int           `json:"round_trips_to_first_media_byte"`
	Bytes           int64          `json:"bytes"`
	Needed          *int64         `json:"needed_bytes"`
	Seconds         fragment.Time  `json:"seconds"`
	FirstMedia      *fragment.Time `json:"first_media_byte_seconds"`
}

// clipJSON describes a resolved clip; file is where it went, nil for nowhere.
func (j *job) clipJSON(p *formats.Plan, full bool, file *string, bytes int64) clipJSON {
	info := j.resource.Info()
	c := clipJSON{
		URI:       j.uri,
		MediaType: p.MediaType,
		Format:    info.Format,
		Requested: closed(p.Requested, info),
		Presented: closed(p.Presented, info),
		Covered:   closed(p.Covered, info),
		Duration:  duration(info),
		Tracks:    []trackJSON{},
		Parts:     []any{},
		Output:    outputJSON{file, known(bytes)},
		Transfer:  newTransferJSON(j.totals.Transfer(), p.Needed),
		Warnings:  j.warnings,
	}
	for _, t := range p.Tracks {
		c.Tracks = append(c.Tracks, newTrackJSON(t))
	}
	for _, part := range p.Parts {
		c.Parts = append(c.Parts, partJSON(part, full))
	}
	return c
}

// closed returns i with an open end at the medium's, where that is known.
func closed(i fragment.Interval, info formats.Info) fragment.Interval {
	if i.Open && info.Timed {
		return fragment.Between(i.Start, info.Duration)
	}
	return i
}

func duration(info formats.Info) *fragment.Time {
	if !info.Timed {
		return nil
	}
	return &info.Duration
}

func newTrackJSON(t formats.Track) trackJSON {
	return trackJSON{
		ID:       t.ID,
		Kind:     string(t.Kind),
		Codec:    nonZero(t.Codec),
		Language: nonZero(t.Language),
		Name:     nonZero(t.Name),
		Width:    nonZero(t.Width),
		Height:   nonZero(t.Height),
	}
}

func partJSON(p seek.Part, full bool) any {
	why := p.Note
	if why == "" {
		why = string(p.Purpose)
	}
	if p.Resource == nil {
		l := literalJSON{Literal: int64(len(p.Literal)), Why: why}
		if full {
			l.Data = &p.Literal
		}
		return l
	}
	r := rangeJSON{URL: withoutUser(p.Resource.Name), Offset: p.Offset, Length: known(p.Length), Why: why}
	if p.Rewrite != nil {
		name := p.Rewrite.Name()
		r.Rewrite = &name
	}
	if full {
		r.pinJSON = &pinJSON{nonZero(p.Resource.Validator), known(p.Resource.Size), p.Rewrite}
	}
	return r
}

func newTransferJSON(t seek.Transfer, needed int64) transferJSON {
	out := transferJSON{
		Requests:        t.Requests,
		Connections:     t.Connections,
		RoundTrips:      t.RoundTrips,
		FirstMediaTrips: nonZero(t.FirstMediaTrips),
		Bytes:           t.Bytes,
		Needed:          nonZero(needed),
		Seconds:         elapsed(t.Duration),
	}
	if t.FirstMedia > 0 {
		first := elapsed(t.FirstMedia)
		out.FirstMedia = &first
	}
	return out
}

func elapsed(d time.Duration) fragment.Time { return fragment.Ticks(int64(d), int64(time.Second)) }

// known returns n, nil where it is negative: not known.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// nonZero returns v, nil where it is its type's zero value: not known.
func nonZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
