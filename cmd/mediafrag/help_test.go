package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestHelp: each command's help has the exit statuses, and every URI of its
// examples is quoted.
func TestHelp(t *testing.T) {
	for _, name := range []string{"get", "plan", "info", "parse", "bench", "demo"} {
		r := command(t, name, "--help")
		if r.status != exitDone || r.stderr != "" {
			t.Errorf("%s --help: exit status %d, standard error %q", name, r.status, r.stderr)
		}
		if !strings.Contains(r.stdout, exitHelp) {
			t.Errorf("%s --help does not state the exit statuses", name)
		}
		if !strings.Contains(r.stdout, "Examples:\n  mediafrag "+name) {
			t.Errorf("%s --help has no example", name)
		}
		unquoted := regexp.MustCompile(`'[^'\n]*'`).ReplaceAllString(r.stdout, "")
		if bare := regexp.MustCompile(`\S*(://|#)\S*`).FindString(unquoted); bare != "" {
			t.Errorf("%s --help has a URI without quotes: %s", name, bare)
		}
	}
	r := command(t)
	for _, name := range []string{"get", "plan", "info", "parse", "bench", "demo"} {
		if !regexp.MustCompile(`(?m)^  ` + name + ` `).MatchString(r.stdout) {
			t.Errorf("the help of mediafrag does not name %s", name)
		}
	}
}

func TestVersion(t *testing.T) {
	if r := command(t, "--version"); r.status != exitDone || !strings.HasPrefix(r.stdout, "mediafrag version ") {
		t.Errorf("exit status %d, %q", r.status, r.stdout)
	}
}
