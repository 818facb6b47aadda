package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// flags are those that are the same for every command.
type flags struct {
	json     bool
	time     string
	tracks   []string
	form     string
	timeline string
	layout   string
	exact    bool
	attached bool
	variant  string
	growing  bool
	private  bool
	headers  []string
	parallel int
	timeout  time.Duration
	verbose  bool

	header http.Header // what headers come to
}

func (f *flags) register(set *pflag.FlagSet) {
	set.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else there")
	set.StringVarP(&f.time, "time", "t", "", "the interval `A,B`, for a URI without t")
	set.StringArrayVar(&f.tracks, "track", nil, "the id or `NAME` of a track that is wanted, as info shows it, repeatable")
	set.StringVar(&f.form, "form", string(formats.Standalone), "standalone: a new file; verbatim: bytes of the original only")
	set.StringVar(&f.timeline, "timeline", string(formats.Zero), "zero: the clip begins at 0; original: it keeps the original's times")
	set.StringVar(&f.layout, "layout", "", "how the clip's file is arranged, where its container has several ways")
	set.BoolVar(&f.exact, "exact", false, "Matroska (.mkv): state by an ordered edition, which mpv honours, that only the interval is shown; other media are exact where they can be")
	set.BoolVar(&f.attached, "attachments", false, "keep the files that a Matroska file carries, such as fonts, in the clip")
	set.StringVar(&f.variant, "variant", "", "which of several qualities: `WHICH` is a height (720p), a bandwidth (1500k), a codec, a name, worst or iframes")
	set.BoolVar(&f.growing, "growing", false, "the resource may grow while it is read, as a recording under way does")
	set.BoolVar(&f.private, "allow-private", false, "let a playlist from the public network lead to addresses on private ones and this machine")
	set.StringArrayVar(&f.headers, "header", nil, "send `'Name: value'` with each request to the URI's host, repeatable; @FILE reads them, one a line, empty lines and comments left out")
	set.IntVar(&f.parallel, "parallel", seek.DefaultParallel, "how many ranges are fetched at a time")
	set.DurationVar(&f.timeout, "timeout", client.DefaultIdleTimeout, "how long to wait for the next byte, such as 30s; never a limit on the whole")
	set.BoolVar(&f.verbose, "verbose", false, "print a line for each request on standard error")
}

// check finds out what is wrong usage before anything is done. The set is where
// the flags were read from.
func (f *flags) check(set *pflag.FlagSet) error {
	switch {
	case set.Changed("time") && f.time == "":
		return usagef("--time is empty; leave it out, or write it as in --time 60,100")
	case slices.Contains(f.tracks, ""):
		return usagef("--track is empty; leave it out, or name a track")
	case f.form != string(formats.Standalone) && f.form != string(formats.Verbatim):
		return usagef("--form is standalone or verbatim, not %q", f.form)
	case f.timeline != string(formats.Zero) && f.timeline != string(formats.Original):
		return usagef("--timeline is zero or original, not %q", f.timeline)
	case !slices.Contains([]formats.Layout{"", formats.Exact, formats.Progressive, formats.Fragmented}, formats.Layout(f.layout)):
		return usagef("--layout is progressive or fragmented, not %q", f.layout)
	case f.exact && f.layout != "" && f.layout != string(formats.Exact):
		return usagef("--exact beside --layout %s: leave one of them out", f.layout)
	case f.exact && f.form == string(formats.Verbatim):
		return usagef("--exact beside --form verbatim: the edition that it writes is no part of the original; leave one of them out")
	case f.parallel < 1:
		return usagef("--parallel is at least 1, not %d", f.parallel)
	case f.timeout <= 0:
		return usagef("--timeout is more than 0, not %v; write it as in 30s", f.timeout)
	}
	return f.readHeaders()
}

// addTo puts what the flags select into a fragment.
func (f *flags) addTo(to *fragment.Fragment) error {
	to.Tracks = append(to.Tracks, f.tracks...)
	for range f.tracks {
		to.Order = append(to.Order, "track")
	}
	return f.addTime(to)
}

// addTime puts the interval of --time into a fragment that has none.
func (f *flags) addTime(to *fragment.Fragment) error {
	if f.time == "" {
		return nil
	}
	for _, p := range to.Pairs {
		if p.Name == "t" {
			return usagef("--time beside a URI with t=%s: leave one of them out", p.Value)
		}
	}
	asked := fragment.Parse(fragment.Encode(fragment.Pair{Name: "t", Value: f.time}))
	if asked.Time == nil {
		return usagef("--time %s: %s", f.time, asked.Warnings[0].Reason)
	}
	to.Time = asked.Time
	to.Order = append(to.Order, "t")
	return nil
}

// reserved are the headers that ranges and validators are made of.
var reserved = []string{"Accept-Encoding", "Host", "If-Range", "Range"}

// readHeaders reads the --header flags and the files they name.
func (f *flags) readHeaders() error {
	f.header = http.Header{}
	for _, arg := range f.headers {
		lines, err := headerLines(arg)
		if err != nil {
			return err
		}
		for _, line := range lines {
			if err := addHeader(f.header, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// headerLines returns the header of a --header flag, or those of the file that
// it names, without empty lines and those that begin with '#'.
func headerLines(arg string) (lines []string, err error) {
	name, isFile := strings.CutPrefix(arg, "@")
	if !isFile {
		return []string{arg}, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--header: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// addHeader adds 'Name: value'. Its errors never show the value.
func addHeader(header http.Header, line string) error {
	name, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch {
	case !ok:
		return usagef("--header: write it as 'Name: value', or @FILE to read them from a file")
	case name == "" || strings.ContainsFunc(name, notInToken):
		return usagef("--header: the name before the ':' must be letters, digits and '-'")
	case slices.Contains(reserved, http.CanonicalHeaderKey(name)):
		return usagef("--header: %s is set by mediafrag itself", http.CanonicalHeaderKey(name))
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return usagef("--header %s: the value has control characters", name)
	}
	header.Add(name, value)
	return nil
}

// notInToken reports whether r may not stand in a header's name (RFC 9110,
// section 5.6.2).
func notInToken(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
