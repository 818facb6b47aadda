// Package tools lets tests use programs that may not be installed.
package tools

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Need skips the test where one of the named programs is not installed, saying
// which. Where MEDIAFRAG_REQUIRE_TOOLS is 1 the test fails instead, so that a
// complete machine cannot pass by skipping.
func Need(t testing.TB, names ...string) {
	t.Helper()
	var missing []string
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) == 0:
	case os.Getenv("MEDIAFRAG_REQUIRE_TOOLS") == "1":
		t.Fatalf("not installed: %s", strings.Join(missing, ", "))
	default:
		t.Skipf("not installed: %s", strings.Join(missing, ", "))
	}
}

// Full reports whether the whole test matrix is wanted (MEDIAFRAG_FULL is 1)
// rather than one case for each trait.
func Full() bool { return os.Getenv("MEDIAFRAG_FULL") == "1" }
