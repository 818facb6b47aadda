package main

import (
	"os"
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
		if bare := unquoted(r.stdout); bare != "" {
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

// unquoted returns the first URI in text that is not quoted, "" for none.
func unquoted(text string) string {
	text = regexp.MustCompile(`'[^'\n]*'`).ReplaceAllString(text, "")
	return regexp.MustCompile(`\S*(://|#)\S*`).FindString(text)
}

// TestREADMEQuotesURIs looks at the README's commands, without their comments.
func TestREADMEQuotesURIs(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^mediafrag .*`).FindAllString(string(readme), -1)
	if len(commands) == 0 {
		t.Fatal("the README has no commands")
	}
	for _, c := range commands {
		c, _, _ = strings.Cut(c, " # ")
		if bare := unquoted(strings.TrimSpace(c)); bare != "" {
			t.Errorf("%s has a URI without quotes: %s", c, bare)
		}
	}
}
