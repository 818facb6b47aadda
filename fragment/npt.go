package fragment

import (
	"fmt"
	"strconv"
)

// ParseTime reads one npttime of section 4.2.1: "61.029", "01:01.029" or
// "0:01:01.029", exactly.
func ParseTime(s string) (Time, error) { return Time{}, fmt.Errorf("fragment: not written yet") }

// Parse reads the text of a fragment or query, without its '#' or '?'
// (section 5.1).
func Parse(text string) Fragment { return Fragment{} }

// formatFloat writes s in the shortest notation that names it, without an
// exponent.
func formatFloat(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }
