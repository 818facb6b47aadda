package hls

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// steered is a master playlist of three pathways, of which A is the one to begin
// with.
const steered = `#EXTM3U
#EXT-X-CONTENT-STEERING:SERVER-URI="steer",PATHWAY-ID="A"
#EXT-X-STREAM-INF:BANDWIDTH=1000,PATHWAY-ID="B",STABLE-VARIANT-ID="v"
https://b.test/x/media.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=1000,PATHWAY-ID="A",STABLE-VARIANT-ID="v"
https://a.test/x/media.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=1000,PATHWAY-ID="C",STABLE-VARIANT-ID="v"
https://c.test/x/media.m3u8
`

// steeredOrigin serves the presentation on several hosts, of which some fail.
func steeredOrigin(t *testing.T, manifest string, hosts, down string) *origin {
	t.Helper()
	o := newOrigin()
	o.put("https://host.test/master.m3u8", []byte(steered))
	if manifest != "" {
		o.put("https://host.test/steer?_HLS_pathway=A", []byte(manifest))
	}
	for host := range strings.FieldsSeq(hosts) {
		o.putFolder(t, "https://"+host+".test/x", tsPresentation(t))
	}
	o.fail = func(name string, _ seek.Request) error {
		for host := range strings.FieldsSeq(down) {
			if strings.HasPrefix(name, "https://"+host+".test/") {
				return seek.ErrUnavailable
			}
		}
		return nil
	}
	return o
}

// TestSteering: the starting pathway is used at once; where its host fails the
// others follow in the order that the steering server has told, clones among
// them; a server that tells nothing of use changes nothing.
func TestSteering(t *testing.T) {
	for _, test := range []struct{ name, manifest, down, want string }{
		{"no host fails", `{"VERSION":1,"TTL":60,"PATHWAY-PRIORITY":["A","C","B"]}`, "", "a"},
		{"the second in the list", `{"VERSION":1,"TTL":60,"PATHWAY-PRIORITY":["A","C","B"]}`, "a", "c"},
		{"the third", `{"VERSION":1,"PATHWAY-PRIORITY":["A","C","B"]}`, "a c", "b"},
		{"what the list does not name comes last", `{"VERSION":1,"PATHWAY-PRIORITY":["C"]}`, "a c", "b"},
		{"a clone", `{"VERSION":1,"PATHWAY-PRIORITY":["A","D","B"],"PATHWAY-CLONES":[{"BASE-ID":"A","ID":"D","URI-REPLACEMENT":{"HOST":"d.test"}}]}`, "a", "d"},
		{"a clone of a clone, by URIs of its own", `{"VERSION":1,"PATHWAY-PRIORITY":["E"],"PATHWAY-CLONES":[{"BASE-ID":"A","ID":"D","URI-REPLACEMENT":{"HOST":"no.test"}},{"BASE-ID":"D","ID":"E","URI-REPLACEMENT":{"PER-VARIANT-URIS":{"v":"https://d.test/x/media.m3u8"}}}]}`, "a", "d"},
		{"no manifest", "", "a", "b"},
		{"no JSON", "<html>", "a", "b"},
		{"another version", `{"VERSION":2,"PATHWAY-PRIORITY":["C"]}`, "a", "b"},
		{"a manifest without end", strings.Repeat(" ", 1<<20) + `{"VERSION":1,"PATHWAY-PRIORITY":["C"]}`, "a", "b"},
	} {
		seektest.Counted(t, test.name, func(t *testing.T) {
			o := steeredOrigin(t, test.manifest, "a b c d", test.down)
			m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{})
			clip(t, m, mustPlan(t, m, between(9, 11)))
			var from []string
			steers := 0
			for _, name := range o.asked {
				if strings.Contains(name, "steer") {
					steers++
				}
				if host, ok := strings.CutSuffix(name, ".test/x/s002.ts"); ok {
					from = append(from, strings.TrimPrefix(host, "https://"))
				}
			}
			if len(from) == 0 || from[len(from)-1] != test.want {
				t.Errorf("the segment came from %v, want %s: %v", from, test.want, o.asked)
			}
			if first := o.asked[slices.IndexFunc(o.asked, func(name string) bool { return strings.HasSuffix(name, "media.m3u8") })]; first != "https://a.test/x/media.m3u8" {
				t.Errorf("it began with %s", first)
			}
			if steers > 2 { // one that nobody waited for, and one after a failure
				t.Errorf("the steering server was asked %d times", steers)
			}
		})
	}
}

// TestSlowSteering: nothing waits for a steering server while no host fails.
func TestSlowSteering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := steeredOrigin(t, "{}", "a", "")
		loaded := make(chan struct{})
		o.sources["https://a.test/x/media.m3u8"].Fault = func(context.Context, int, seek.Request) seektest.Fault {
			close(loaded)
			return seektest.Fault{}
		}
		steer := o.sources["https://host.test/steer?_HLS_pathway=A"]
		steer.Latency = time.Hour
		steer.Fault = func(context.Context, int, seek.Request) seektest.Fault {
			select {
			case <-loaded:
			case <-time.After(2 * time.Second):
				t.Error("the playlist is not asked for before the steering server has answered")
			}
			return seektest.Fault{}
		}
		m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{})
		clip(t, m, mustPlan(t, m, between(9, 11)))
		if got := o.totals.Transfer(); got.FirstMediaTrips > 3 {
			t.Errorf("%d round trips to the first media byte, want 3", got.FirstMediaTrips)
		}
	})
}

// TestSteeringLater: a manifest that came in time is the order of what is loaded
// later, is asked for again when its time is over, and then at the address that
// it gave.
func TestSteeringLater(t *testing.T) { synctest.Test(t, testSteeringLater) }

func testSteeringLater(t *testing.T) {
	o := steeredOrigin(t, `{"VERSION":1,"TTL":60,"RELOAD-URI":"again","PATHWAY-PRIORITY":["C","B"]}`, "a b c", "")
	o.put("https://host.test/again?_HLS_pathway=C", []byte(`{"VERSION":1,"PATHWAY-PRIORITY":["B"]}`))
	m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{})
	clock := &TestClock{T: time.Now()}
	m.SetClock(clock)
	order := func() (hosts []string) {
		for _, name := range m.order(m.main) {
			hosts = append(hosts, name[8:9])
		}
		return hosts
	}
	m.steer(t.Context())
	if diff := cmp.Diff([]string{"c", "b", "a"}, order()); diff != "" {
		t.Error(diff)
	}
	clock.T = clock.T.Add(59 * time.Second)
	m.steer(t.Context())
	clock.T = clock.T.Add(2 * time.Second)
	if slices.Contains(o.files(), "again?_HLS_pathway=C") {
		t.Error("it was asked for again before its time")
	}
	m.steer(t.Context())
	if diff := cmp.Diff([]string{"b", "a", "c"}, order()); diff != "" {
		t.Error(diff)
	}
}

// TestSteeringManifests: what a steering server may send.
func TestSteeringManifests(t *testing.T) {
	for text, want := range map[string]error{
		`{"VERSION":1}`: nil,
		`{}`:            formats.ErrUnsupported,
		`[]`:            formats.ErrDamaged,
		`{"VERSION":1,"PATHWAY-PRIORITY":[` + strings.Repeat(`"A",`, 200) + `"A"]}`: seek.ErrLimit,
		`{"VERSION":1,"PATHWAY-CLONES":[` + strings.Repeat(`{},`, 200) + `{}]}`:     seek.ErrLimit,
	} {
		if _, err := parseSteering([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.40s: %v, want %v", text, err, want)
		}
	}
	c := &pathwayClone{}
	c.URI.Host, c.URI.Params = "d.test:8080", map[string]string{"token": "a b", "a": "1"}
	if got, _ := c.name(place{name: "https://a.test/x/m.m3u8?q=1&a=0"}, false); got != "https://d.test:8080/x/m.m3u8?q=1&a=1&token=a+b" {
		t.Errorf("the clone is %s", got)
	}
}

// TestHostIsDown: a host that gives no answer is not asked for each segment.
func TestHostIsDown(t *testing.T) { synctest.Test(t, testHostIsDown) }

func testHostIsDown(t *testing.T) {
	o := steeredOrigin(t, `{"VERSION":1,"PATHWAY-PRIORITY":["A","C"]}`, "a b c", "")
	m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{})
	down := 0
	o.fail = func(name string, _ seek.Request) error {
		if strings.HasPrefix(name, "https://a.test/") {
			down++
			return seek.ErrUnavailable
		}
		return nil
	}
	for a := range 8 {
		clip(t, m, mustPlan(t, m, between(float64(4*a+1), float64(4*a+2))))
	}
	if down == 0 || down > 2 {
		t.Errorf("the host that is down was asked %d times", down)
	}
}
