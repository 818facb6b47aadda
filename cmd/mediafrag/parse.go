package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mediafrag/mediafrag/fragment"
)

// maxLine is the longest URI that is read from standard input, in bytes.
const maxLine = 1 << 20

// standIn is what `parse` is told of the medium in its place.
type standIn struct {
	duration, size, fps, created string

	length *fragment.Time // of duration; nil: not given
}

func (a *app) parseCommand() *cobra.Command {
	var media standIn
	var strict bool
	cmd := &cobra.Command{
		Use:   "parse 'URI'...",
		Short: "Show what URIs ask for, and the validator's warnings; no network",
		Long: `Shows the dimensions of media fragment URIs and what had to be ignored, and why.
Nothing is fetched. With '-' it reads URIs from standard input, one a line.

--duration, --size, --fps and --created stand in for the medium, so that what a
fragment comes to on it can be told. Of them only --duration counts so far: the
dimensions that need the others (xywh, SMPTE timecodes, wall-clock times) are
not yet supported.`,
		Example: `  mediafrag parse 'https://host/movie.mp4#t=60,100'
  mediafrag parse --json --duration 600 'movie.mp4#t=npt:10:00&foo=bar'
  mediafrag parse --strict - < uris.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("parse takes at least one URI, or '-' for standard input; see '%s --help'", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := media.check(); err != nil {
				return err
			}
			warnings := 0
			for _, arg := range args {
				err := a.eachURI(arg, func(uri string) error {
					p, err := a.parse(uri, &media)
					if err != nil {
						return err
					}
					warnings += len(p.Warnings)
					return a.printParsed(p)
				})
				if err != nil {
					return err
				}
			}
			if strict && warnings > 0 {
				return &strictError{warnings}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&media.duration, "duration", "", "the medium's duration in `SECONDS`")
	cmd.Flags().StringVar(&media.size, "size", "", "its picture size, `WxH`")
	cmd.Flags().StringVar(&media.fps, "fps", "", "its frame rate, `F` frames a second, such as 25 or 30000/1001")
	cmd.Flags().StringVar(&media.created, "created", "", "when it began, in `RFC3339`")
	cmd.Flags().BoolVar(&strict, "strict", false, "make warnings exit status 1")
	return cmd
}

// check reads the flags, all of them, so that a wrong one is found out.
func (m *standIn) check() error {
	if m.duration != "" {
		length, err := fragment.ParseTime(m.duration)
		if err != nil {
			return usagef("--duration is a number of seconds, such as 600 or 61.029, not %q", m.duration)
		}
		m.length = &length
	}
	if w, h, ok := strings.Cut(m.size, "x"); m.size != "" && !(ok && positive(w) && positive(h)) {
		return usagef("--size is width and height in pixels, such as 1280x720, not %q", m.size)
	}
	if m.fps != "" {
		if r, ok := new(big.Rat).SetString(m.fps); !ok || len(m.fps) > 30 || strings.ContainsAny(m.fps, "eEpP") || r.Sign() <= 0 {
			return usagef("--fps is frames a second, such as 25 or 30000/1001, not %q", m.fps)
		}
	}
	if m.created != "" {
		if _, err := time.Parse(time.RFC3339, m.created); err != nil {
			return usagef("--created is a time such as 2026-01-31T12:00:00Z, not %q", m.created)
		}
	}
	return nil
}

func positive(s string) bool {
	n, err := strconv.ParseUint(s, 10, 31)
	return err == nil && n > 0
}

// eachURI calls do with a URI, or with each line of standard input for "-".
func (a *app) eachURI(arg string, do func(uri string) error) error {
	if arg != "-" {
		return do(arg)
	}
	lines := bufio.NewScanner(a.stdin)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if uri := strings.TrimSpace(lines.Text()); uri != "" {
			if err := do(uri); err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("standard input: a line has more than %d bytes; each line is one URI", maxLine)
	}
	return lines.Err()
}

// parsed is one URI's entry in the output of `parse --json`.
type parsed struct {
	URI      string             `json:"uri"`
	Pairs    []fragment.Pair    `json:"pairs"`
	Time     *timeJSON          `json:"time"`
	Space    any                `json:"space"` // not read yet: null
	Tracks   []string           `json:"tracks"`
	ID       *string            `json:"id"`
	Resolved resolvedJSON       `json:"resolved"`
	Warnings []fragment.Warning `json:"warnings"`
}

type timeJSON struct {
	Unit fragment.Unit `json:"unit"`
	fragment.Interval
}

// MarshalJSON writes the unit beside the interval, which has a MarshalJSON of
// its own that would otherwise stand for all of it.
func (t timeJSON) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Unit  fragment.Unit  `json:"unit"`
		Start fragment.Time  `json:"start"`
		End   *fragment.Time `json:"end"`
	}{t.Unit, t.Start, end(t.Interval)})
}

// resolvedJSON is what a fragment comes to on the medium.
type resolvedJSON struct {
	Time  any `json:"time"`  // [from, to], "whole" or "seek-end"
	Space any `json:"space"` // not read yet: null
}

// parse reads one URI.
func (a *app) parse(uri string, media *standIn) (*parsed, error) {
	_, f := fragment.Split(uri)
	if err := a.flags.addTime(&f); err != nil {
		return nil, err
	}
	p := &parsed{
		URI:      uri,
		Pairs:    append([]fragment.Pair{}, f.Pairs...),
		Tracks:   append([]string{}, f.Tracks...),
		ID:       f.ID,
		Warnings: append([]fragment.Warning{}, f.Warnings...),
	}
	if f.Time != nil {
		p.Time = &timeJSON{f.Time.Unit, f.Time.Interval}
	}
	interval, outcome := f.Interval()
	if media.length != nil {
		interval, outcome = f.Resolve(*media.length)
	}
	p.Resolved.Time = outcome.String()
	if outcome == fragment.Part {
		p.Resolved.Time = [2]*fragment.Time{&interval.Start, end(interval)}
	}
	return p, nil
}

// printParsed writes one URI's entry: an object on a line, or text for people.
func (a *app) printParsed(p *parsed) error {
	if a.flags.json {
		encoder := json.NewEncoder(a.stdout)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(p)
	}
	var b strings.Builder
	fmt.Fprintln(&b, oneLine(p.URI))
	switch resolved := p.Resolved.Time.(type) {
	case string:
		fmt.Fprintf(&b, "  time      %s\n", resolved)
	case [2]*fragment.Time:
		fmt.Fprintf(&b, "  time      %s to %s\n", seconds(*resolved[0]), secondsOr(resolved[1], "the end"))
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "  warning   %s\n", oneLine(w.String()))
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
