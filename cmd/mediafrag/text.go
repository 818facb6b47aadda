package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// seconds writes a time as the JSON does: a decimal with up to nine digits.
func seconds(t fragment.Time) string {
	text, _ := t.MarshalJSON() // never fails
	return string(text)
}

func secondsOr(t *fragment.Time, otherwise string) string {
	if t == nil {
		return otherwise
	}
	return seconds(*t)
}

// interval writes an interval as "[60, 100)".
func interval(i fragment.Interval) string {
	return fmt.Sprintf("[%s, %s)", seconds(i.Start), secondsOr(end(i), "end"))
}

// end returns the end of an interval, nil where it is open.
func end(i fragment.Interval) *fragment.Time {
	if i.Open {
		return nil
	}
	return &i.End
}

// countText writes a number of bytes, "?" where it is not known.
func countText(n int64) string {
	if n < 0 {
		return "?"
	}
	return strconv.FormatInt(n, 10)
}

func bytesText(n int64) string { return countText(n) + " bytes" }

// trackText describes a track on one line.
func trackText(t formats.Track) string {
	words := []string{t.ID, string(t.Kind), t.Codec}
	if t.Width > 0 {
		words = append(words, fmt.Sprintf("%dx%d", t.Width, t.Height))
	}
	if t.FrameRate.Sign() > 0 {
		words = append(words, seconds(t.FrameRate)+" fps")
	}
	if t.SampleRate > 0 {
		words = append(words, fmt.Sprintf("%d Hz", t.SampleRate))
	}
	if t.Channels > 0 {
		words = append(words, fmt.Sprintf("%d ch", t.Channels))
	}
	words = append(words, t.Language, t.Name)
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	return oneLine(strings.Join(words, "  "))
}
