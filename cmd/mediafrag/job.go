package main

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// job is one URI on its way: opened, then resolved, then read. What it costs is
// counted.
type job struct {
	*target
	totals   *seek.Totals
	client   *client.Client
	resource *client.Resource

	mu       sync.Mutex // of warnings, while several clips are read
	warnings []string
}

// open opens the medium of a target. Close the job when done.
func (a *app) open(ctx context.Context, t *target) (*job, error) {
	j := &job{target: t, totals: &seek.Totals{}, warnings: texts(t.fragment.Warnings)}
	j.client = a.newClient()
	j.client.Header = a.flags.header
	j.client.Parallel = a.flags.parallel
	j.client.Variant = a.flags.variant
	j.client.Tracks = t.fragment.Tracks
	j.client.Growing = a.flags.growing
	j.client.AllowPrivate = a.flags.private
	j.client.IdleTimeout = a.flags.timeout
	j.client.Observer = seek.Observers(j.totals, a.tracer(), a.waits())
	var err error
	if j.resource, err = j.client.Open(ctx, t.resource); err != nil {
		j.client.CloseIdleConnections()
		return nil, t.about(err)
	}
	return j, nil
}

// Close ends what the job still does.
func (j *job) Close() {
	j.resource.Close()
	j.client.CloseIdleConnections()
}

// selection maps the fragment and the flags to what is wanted of the medium.
func (a *app) selection(j *job) (formats.Selection, error) {
	s, warnings, err := formats.Select(j.fragment, j.resource.Info())
	if err != nil {
		return s, j.about(err)
	}
	j.warnings = append(j.warnings, texts(warnings)...)
	s.Form = formats.Form(a.flags.form)
	s.Timeline = formats.Timeline(a.flags.timeline)
	s.Layout = formats.Layout(a.flags.layout)
	s.Attachments = a.flags.attached
	if a.flags.exact {
		s.Layout = formats.Exact
		if format := j.resource.Info().Format; format != "webm" {
			return s, j.about(&formats.Error{Container: format, Offset: -1, Err: formats.ErrUnsupported,
				Problem: "--exact writes an ordered edition, which only Matroska has",
				Hint:    "leave --exact out: 'presented' says what players show of the clip"})
		}
	}
	return s, nil
}

// resolve finds the bytes of what is wanted. The clip is read from the job's
// resource and ends with it.
func (a *app) resolve(ctx context.Context, j *job) (*client.Clip, error) {
	s, err := a.selection(j)
	if err != nil {
		return nil, err
	}
	clip, err := j.resource.Select(ctx, s)
	if err != nil {
		return nil, j.about(err)
	}
	j.warnings = append(j.warnings, texts(clip.Plan.Warnings)...)
	return clip, nil
}

// read notes the damage that was met while a clip was read. It may be called from
// many goroutines.
func (j *job) read(damage []seek.Damage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, d := range damage {
		if w := d.String(); !slices.Contains(j.warnings, w) { // the plan may have seen it
			j.warnings = append(j.warnings, w)
		}
	}
}

func texts(warnings []fragment.Warning) []string {
	out := []string{}
	for _, w := range warnings {
		out = append(out, w.String())
	}
	return out
}

// delivery is told of the bytes of a clip as they are delivered, in any order
// and from many goroutines.
type delivery struct {
	media  int64 // where in the clip the first media byte stands
	first  func()
	once   sync.Once
	toShow func(n int) // may be nil
}

func (j *job) delivery(p *formats.Plan, toShow func(n int)) *delivery {
	return &delivery{media: p.MediaOffset(), first: j.totals.FirstMediaByte, toShow: toShow}
}

func (d *delivery) bytes(off int64, n int) {
	if off <= d.media && d.media < off+int64(n) {
		d.once.Do(d.first)
	}
	if d.toShow != nil {
		d.toShow(n)
	}
}

// countedFile is a file that a clip is written to, each range to its place.
type countedFile struct {
	io.WriterAt
	*delivery
}

func (c countedFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := c.WriterAt.WriteAt(b, off)
	c.bytes(off, n)
	return n, err
}

// countedStream is a stream that a clip is written to, in order.
type countedStream struct {
	io.Writer
	*delivery
	written int64
}

func (c *countedStream) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.bytes(c.written, n)
	c.written += int64(n)
	return n, err
}
