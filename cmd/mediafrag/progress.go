package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/mediafrag/mediafrag/seek"
)

// barInterval is how often the bar is drawn at most.
const barInterval = 100 * time.Millisecond

// bar draws the progress of size bytes, -1 where that is not known, on a
// terminal. It returns what is to be called for bytes as they come, and at the
// end; elsewhere, and where other lines would break it, both do nothing.
func (a *app) bar(size int64, quiet bool) (bytes func(n int), done func()) {
	if !a.terminal || quiet || a.flags.verbose {
		return nil, func() {}
	}
	b := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine: it is drawn as bytes come
		progressbar.OptionThrottle(barInterval),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionUseANSICodes(true),
	)
	// What drawing the bar fails with is no failure of the clip.
	return func(n int) { _ = b.Add(n) }, func() { _ = b.Exit(); _ = b.Clear() }
}

// longWait is how long a wait is before it is told of: it would look like a
// program that hangs.
const longWait = 2 * time.Second

// waits is an Observer that tells of long waits that a server has asked for.
func (a *app) waits() seek.Observer {
	if a.quiet {
		return nil
	}
	return seek.ObserverFunc(func(_ context.Context, e seek.Event) {
		if e.Kind == seek.Waiting && e.Wait >= longWait {
			a.note("waiting for %v: %s answers %v", e.Wait.Round(time.Second), e.Name, e.Err)
		}
	})
}

// tracer is an Observer that prints a line for each request, nil without
// --verbose.
func (a *app) tracer() seek.Observer {
	if !a.flags.verbose {
		return nil
	}
	var mu sync.Mutex
	begun := map[uint64]seek.Event{}
	answers := map[uint64]string{}
	return seek.ObserverFunc(func(_ context.Context, e seek.Event) {
		mu.Lock()
		defer mu.Unlock()
		asked := requestText(begun[e.ID]) // later a suffix is the range that it was
		switch e.Kind {
		case seek.Started:
			begun[e.ID] = e
		case seek.Answered:
			answers[e.ID] = e.Status
		case seek.Retried:
			a.note("%s: tried again: %v", asked, e.Err)
		case seek.Ended:
			took := e.Time.Sub(begun[e.ID].Time).Round(100 * time.Microsecond)
			line := fmt.Sprintf("%s: %s, %s, %v", asked, answers[e.ID], bytesText(e.Bytes), took)
			if e.Err != nil {
				line += ": " + e.Err.Error()
			}
			a.note("%s", line)
			delete(begun, e.ID)
			delete(answers, e.ID)
		}
	})
}

// requestText says what a request asks for.
func requestText(e seek.Event) string {
	text := fmt.Sprintf("GET %s bytes %s %s", e.Name, e.Request.Range, e.Request.Purpose)
	if e.Request.Note != "" && e.Request.Note != string(e.Request.Purpose) {
		text += " (" + e.Request.Note + ")"
	}
	return text
}
