package tools

import (
	"fmt"
	"strings"
	"testing"
)

// recorder is a testing.TB that notes how a test was ended.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper() {}
func (r *recorder) Skipf(format string, args ...any) {
	r.ended = "skip: " + fmt.Sprintf(format, args...)
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.ended = "fail: " + fmt.Sprintf(format, args...)
}

func TestNeed(t *testing.T) {
	tests := []struct {
		name, require, program, want string
	}{
		{"installed", "1", "go", ""},
		{"missing", "", "no-such-program", "skip: not installed: no-such-program"},
		{"missing and required", "1", "no-such-program", "fail: not installed: no-such-program"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("MEDIAFRAG_REQUIRE_TOOLS", tt.require)
			r := &recorder{TB: t}
			Need(r, tt.program)
			if !strings.HasPrefix(r.ended, tt.want) || tt.want == "" && r.ended != "" {
				t.Errorf("Need(%q): %q, want %q", tt.program, r.ended, tt.want)
			}
		})
	}
}

func TestFull(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "1": true} {
		t.Setenv("MEDIAFRAG_FULL", value)
		if Full() != want {
			t.Errorf("Full() with %q: %v", value, !want)
		}
	}
}
