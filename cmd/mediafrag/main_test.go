package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mediafrag/mediafrag/client"
)

// TestMain makes this program, as it is, the command mediafrag of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mediafrag": main})
}

// TestScripts runs the sessions in testdata/script against a loopback server,
// whose address is in $SERVER; files of Matroska are in $MATROSKA.
func TestScripts(t *testing.T) {
	server := newTestServer(t)
	matroska, err := filepath.Abs("../../testdata/matroska")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SERVER", server.URL)
			env.Setenv("MATROSKA", matroska)
			env.Setenv("HOST", strings.TrimPrefix(server.URL, "http://"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": checkStatus},
	})
}

// checkStatus is the scripts' `status N COMMAND...`: the command must exit with
// that status.
func checkStatus(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// result is what a command line, run within the test, came to.
type result struct {
	stdout, stderr string
	status         int
}

// command runs a command line within the test.
func command(t *testing.T, args ...string) result {
	t.Helper()
	return commandWith(t, &app{}, args...)
}

// commandWith runs a command line with an app of which some fields are set.
func commandWith(t *testing.T, a *app, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a.stdout, a.stderr = &stdout, &stderr
	if a.stdin == nil {
		a.stdin = strings.NewReader("")
	}
	if a.newClient == nil {
		a.newClient = func() *client.Client { return &client.Client{} }
	}
	status := run(t.Context(), args, a)
	return result{stdout.String(), stderr.String(), status}
}
