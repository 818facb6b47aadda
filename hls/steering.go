package hls

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

// Limits on content steering.
const (
	maxSteering = 256 << 10 // bytes of a steering manifest
	maxPathways = 100       // of its priorities and of its clones
	// steeringTime is how long whoever needs to know the pathways, because a host
	// has failed, waits for a steering manifest.
	steeringTime = 5 * time.Second
	// defaultTTL is how long a steering manifest holds that does not say so.
	defaultTTL = 300 * time.Second
)

// place is where a playlist lies: one of several that are redundant.
type place struct {
	name    string // absolute
	pathway string
	stable  string // STABLE-VARIANT-ID or STABLE-RENDITION-ID
}

// steering is EXT-X-CONTENT-STEERING and what its server says (RFC 8216bis
// section 7): in which order the pathways are to be used, and which there are
// beside those of the master playlist. A server that does not answer changes
// nothing: the order is then that of the master playlist.
type steering struct {
	uri    string    // of the steering manifest; "": there is none
	start  string    // the pathway to begin with
	next   time.Time // when to ask again
	said   steeringManifest
	asking chan struct{} // closed when the request that is on its way is over; nil: there is none
}

// steeringManifest is the JSON of a steering server (RFC 8216bis section 7.2).
type steeringManifest struct {
	Version  int            `json:"VERSION"`
	TTL      float64        `json:"TTL"`
	Reload   string         `json:"RELOAD-URI"`
	Priority []string       `json:"PATHWAY-PRIORITY"`
	Clones   []pathwayClone `json:"PATHWAY-CLONES"`
}

// pathwayClone is a pathway that is like another one but for its URIs.
type pathwayClone struct {
	Base string `json:"BASE-ID"`
	ID   string `json:"ID"`
	URI  struct {
		Host       string            `json:"HOST"`
		Params     map[string]string `json:"PARAMS"`
		Variants   map[string]string `json:"PER-VARIANT-URIS"`
		Renditions map[string]string `json:"PER-RENDITION-URIS"`
	} `json:"URI-REPLACEMENT"`
}

// parseSteering reads a steering manifest.
func parseSteering(text []byte) (s steeringManifest, err error) {
	if err := json.Unmarshal(text, &s); err != nil {
		return s, damaged("EXT-X-CONTENT-STEERING", -1, "its manifest is no JSON as it should be")
	}
	if s.Version != 1 {
		return s, unsupported("EXT-X-CONTENT-STEERING", fmt.Sprintf("version %d of its manifest", s.Version), "")
	}
	if len(s.Priority) > maxPathways || len(s.Clones) > maxPathways {
		return s, limited("EXT-X-CONTENT-STEERING", -1, "its manifest has too many pathways")
	}
	return s, nil
}

// ttl is how long the manifest holds.
func (s *steeringManifest) ttl() time.Duration {
	if s.TTL < 1 || s.TTL > longest.Seconds() {
		return defaultTTL
	}
	return time.Duration(s.TTL * float64(time.Second))
}

// steer asks the steering server, if it is time to, and ends when it has answered
// or ctx does. What it says is for the requests that come later.
func (m *Medium) steer(ctx context.Context) {
	m.mu.Lock()
	now := m.clock.Now()
	uri, asking := m.steering.uri, m.steering.asking
	if uri == "" || asking == nil && now.Before(m.steering.next) {
		m.mu.Unlock()
		return
	}
	if asking != nil {
		m.mu.Unlock()
		select {
		case <-asking:
		case <-ctx.Done():
		}
		return
	}
	asking = make(chan struct{})
	m.steering.asking = asking
	m.mu.Unlock()
	said, err := m.readSteering(ctx, uri)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steering.asking = nil
	close(asking)
	if err != nil {
		if ctx.Err() == nil { // else it was only not waited for
			m.steering.next = now.Add(defaultTTL)
		}
		return
	}
	m.steering.said, m.steering.next = said, now.Add(said.ttl())
	if next, err := nameOf(m.base, said.Reload); said.Reload != "" && err == nil {
		m.steering.uri = next
	}
}

// steerAside asks the steering server while something else is done. It is not
// waited for: stop ends it. Where there is only one pathway to choose from it is
// left until that fails.
func (m *Medium) steerAside(ctx context.Context) (stop func()) {
	if len(m.main.places) < 2 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.steer(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// steerNow is for when a host has failed: it waits for the steering server for a
// while.
func (m *Medium) steerNow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, steeringTime)
	defer cancel()
	m.steer(ctx)
}

func (m *Medium) readSteering(ctx context.Context, uri string) (s steeringManifest, err error) {
	m.mu.Lock()
	at := m.steering.start
	if len(m.steering.said.Priority) > 0 {
		at = m.steering.said.Priority[0]
	}
	m.mu.Unlock()
	if at != "" {
		uri = withParams(uri, map[string]string{"_HLS_pathway": at})
	}
	source, err := m.env.Opener.OpenSource(ctx, uri)
	if err != nil {
		return s, err
	}
	body, err := source.Open(ctx, seek.Request{Range: seek.Range{Length: seek.ToEnd}, Purpose: seek.Playlist, Note: "content steering"})
	if err != nil {
		return s, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxSteering+1))
	if err != nil {
		return s, err
	}
	if len(text) > maxSteering {
		return s, limited("EXT-X-CONTENT-STEERING", -1, fmt.Sprintf("its manifest has more than %d bytes", maxSteering))
	}
	return parseSteering(text)
}

// order returns the names of a stream's playlist in the order in which they are
// to be tried: by the priority of their pathways where a steering server has told
// that, those it does not name last.
func (m *Medium) order(s *stream) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.steering.order(s)
}

func (s *steering) order(of *stream) []string {
	if len(s.said.Priority) == 0 {
		return of.names
	}
	all := slices.Clone(of.places)
	for _, c := range s.said.Clones {
		for _, p := range all { // also clones that stand before this one
			if p.pathway == c.Base && c.ID != "" {
				if name, ok := c.name(p, of.rendition != nil); ok {
					all = append(all, place{name, c.ID, p.stable})
				}
				break
			}
		}
	}
	rank := func(p place) int {
		if i := slices.Index(s.said.Priority, p.pathway); i >= 0 {
			return i
		}
		return len(s.said.Priority)
	}
	sort.SliceStable(all, func(i, j int) bool { return rank(all[i]) < rank(all[j]) })
	var names []string
	for _, p := range all {
		if !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 { // a media playlist by itself
		return of.names
	}
	return names
}

// name returns what a clone calls a place of its base.
func (c *pathwayClone) name(p place, rendition bool) (string, bool) {
	own := c.URI.Variants
	if rendition {
		own = c.URI.Renditions
	}
	u, err := url.Parse(p.name)
	if err != nil {
		return "", false
	}
	if uri := own[p.stable]; uri != "" && p.stable != "" {
		name, err := nameOf(u, uri)
		return name, err == nil
	}
	if c.URI.Host != "" {
		u.Host = c.URI.Host
	}
	return withParams(u.String(), c.URI.Params), true
}

// withParams returns a URL with parameters set in its query, sorted behind those
// that it has.
func withParams(uri string, params map[string]string) string {
	if len(params) == 0 {
		return uri
	}
	uri, query, _ := strings.Cut(uri, "?")
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if _, replaced := params[name]; pair != "" && !replaced {
			pairs = append(pairs, pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(params[name]))
	}
	return uri + "?" + strings.Join(pairs, "&")
}
