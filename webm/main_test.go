package webm_test

import (
	"os"
	"testing"
)

var tempDir string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run gives the tests one folder for the files that they make.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "webm-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	tempDir = dir
	return m.Run()
}
