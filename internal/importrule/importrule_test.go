// Package importrule holds the rule which package may import which. A package
// that is not named here may not import the project's packages at all: whoever
// adds one adds it here, and thinks about where it stands.
package importrule

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mediafrag/mediafrag"

// layers says for each package (or, with "/...", all below it) which others of
// the project it may import. Packages of one entry do not import each other
// unless the entry says so.
var layers = []struct {
	packages string
	may      []string
}{
	// The ground.
	{"fragment", nil},
	{"seek", nil},
	// The contract.
	{"formats", []string{"fragment", "seek"}},
	{"formats/formatstest", []string{"formats", "fragment", "seek", "internal/..."}},
	// The containers.
	{"ogg", containers()},
	{"mp4", containers()},
	{"webm", containers()},
	{"hls", containers("mp4", "webm")},
	{"dash", containers("mp4", "webm")},
	// The client, which says which containers are on.
	{"client", []string{"formats", "fragment", "seek", "internal/...", "ogg", "mp4", "webm", "hls", "dash"}},
	// What stands on the SDK.
	{"cmd/...", []string{"client", "formats", "fragment", "seek", "internal/..."}},
	{"examples/...", []string{"client", "formats", "fragment", "seek"}},
	// Shared parts know the ground and the contract, never a container.
	{"internal/...", []string{"formats", "fragment", "seek", "internal/..."}},
}

// containers is what every container may import, and what some may beside.
func containers(more ...string) []string {
	return append([]string{"formats", "fragment", "seek", "internal/..."}, more...)
}

// mostModules is how many modules the SDK may link: what a program that imports
// the client has to trust.
const mostModules = 6

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsRunDownward(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := inModule(p.ImportPath)
		for _, imported := range p.Imports {
			target, own := strings.CutPrefix(imported, module+"/")
			if own && !allowed(name, target) {
				t.Errorf("%s imports %s: that arrow does not run downward", name, target)
			}
		}
	}
}

// TestRuleForbids makes sure that the rule says no where it should.
func TestRuleForbids(t *testing.T) {
	for _, arrow := range [][2]string{
		{"fragment", "seek"}, {"seek", "fragment"}, {"seek", "formats"}, {"formats", "mp4"}, {"mp4", "client"},
		{"mp4", "webm"}, {"webm", "mp4"}, {"ogg", "mp4"}, {"client", "cmd/mediafrag"}, {"internal/samples", "client"},
		{"internal/samples", "mp4"}, {"new", "formats"}, {"cmd/mediafrag", "mp4"}, {"formats", "formats/formatstest"},
	} {
		if allowed(arrow[0], arrow[1]) {
			t.Errorf("%s may import %s", arrow[0], arrow[1])
		}
	}
}

func TestSDKLinksFewModules(t *testing.T) {
	out := goCommand(t, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./client")
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.DeleteFunc(slices.Compact(modules), func(m string) bool { return m == module })
	if len(modules) > mostModules {
		t.Errorf("the client links %d modules, at most %d are allowed: %s", len(modules), mostModules, strings.Join(modules, " "))
	}
}

func allowed(from, to string) bool {
	for _, l := range layers {
		if matches(l.packages, from) {
			return slices.ContainsFunc(l.may, func(pattern string) bool { return matches(pattern, to) })
		}
	}
	return false
}

func matches(pattern, name string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == below || strings.HasPrefix(name, below+"/")
	}
	return pattern == name
}

func inModule(importPath string) string {
	return path.Clean(strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/"))
}

func list(t *testing.T, pattern string) []listed {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(goCommand(t, "list", "-json=ImportPath,Imports", pattern))))
	var all []listed
	for {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func goCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}
