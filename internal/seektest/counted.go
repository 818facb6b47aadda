package seektest

import (
	"testing"
	"testing/synctest"
)

// Counted runs a subtest that counts round trips in a bubble of
// [testing/synctest]: the time that a [Source] takes to answer passes when
// nobody can ask any more, so the count does not depend on how busy the machine
// is, and nobody waits.
func Counted(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}
