package client

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/hls"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/ogg"
	"github.com/mediafrag/mediafrag/seek"
	"github.com/mediafrag/mediafrag/webm"
)

// DefaultIdleTimeout is how long a Client waits for the next byte.
const DefaultIdleTimeout = 30 * time.Second

// edge is how many bytes at either end of a resource are asked for first.
const edge = 64 << 10

// Client opens media. The zero value is ready to use; its fields must not be
// changed once it is in use, and it must not be copied then. A Client may be
// used concurrently.
type Client struct {
	// HTTP sends the requests for http and https. Nil means a client of its own
	// with as many idle connections for each host as Parallel. Retries, ranges,
	// redirects and timeouts are this package's: HTTP's CheckRedirect is asked,
	// too, and its Timeout would cut long clips and should be 0.
	HTTP *http.Client
	// Header is sent with every request to the host of the URI that was opened,
	// and never to another.
	Header http.Header
	// Formats are the containers that are recognised, in the order in which
	// they are tried. Nil means [DefaultFormats].
	Formats []formats.Format
	// Openers open names by their URI scheme, in lower case, instead of or
	// beside "http", "https" and "file".
	Openers map[string]seek.Opener
	// Observer is told about every request over HTTP. It may be nil.
	Observer seek.Observer
	// Limits bound what one resource may cost. Zero fields have defaults.
	Limits formats.Limits
	// Parallel is how many ranges are fetched at a time. 0 means 4.
	Parallel int
	// IdleTimeout is how long to wait for an answer or for the next byte of a
	// body before trying again; it never limits the whole. 0 means
	// [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// Variant names which of several forms of the same content is read, such as
	// "720p", "1500000" (bits a second), a codec or a name. "" is the best.
	Variant string
	// Tracks are the IDs or names of tracks that will be selected, where that is known.
	// If they have playlists of their own these are read while the medium is opened,
	// which saves a round trip. Any others can be selected, too.
	Tracks []string
	// AllowPrivate lets a manifest from a public address name resources on
	// private networks and this machine. One that comes from there may anyway.
	// Addresses are looked at when they are dialled; with an HTTP of one's own, or
	// over a proxy, only before, by name.
	AllowPrivate bool
	// Growing says that resources may grow while they are read: a larger size
	// or a newer validator is no change.
	Growing bool

	pace    pace // of retries; the zero value is defaultPace
	network network

	once   sync.Once
	shared *web            // of all HTTP resources; made at the first use
	pool   *http.Transport // nil where HTTP is given
}

// DefaultFormats returns the containers that are built in, in the order in
// which they are tried.
func DefaultFormats() []formats.Format {
	return []formats.Format{mp4.Format{}, ogg.Format{}, webm.Format{}, hls.Format{}}
}

// CloseIdleConnections closes the connections that the Client keeps for its next
// requests. Those of a given HTTP client are left to whoever made it.
func (c *Client) CloseIdleConnections() {
	c.web()
	if c.pool != nil {
		c.pool.CloseIdleConnections()
	}
}

// web returns what all HTTP resources share.
func (c *Client) web() *web {
	c.once.Do(func() {
		idle, p := c.IdleTimeout, c.pace
		if idle <= 0 {
			idle = DefaultIdleTimeout
		}
		if p == (pace{}) {
			p = defaultPace
		}
		var over http.Client
		if c.HTTP != nil {
			over = *c.HTTP
		} else {
			c.pool = newTransport(c.Parallel, c.network)
			over.Transport = c.pool
		}
		c.shared = newWeb(over, idle, p, c.Observer, c.Growing, c.network)
	})
	return c.shared
}

// Open opens the medium that uri names; a fragment of uri is ignored here.
// Close the Resource when done.
//
// The context is that of opening alone: what the Resource does later has the
// contexts of the calls that ask for it.
//
// The first and the last bytes are asked for at once, a playlist whole. Errors
// are those of package seek where the resource cannot be read, of package
// formats where it cannot be understood.
func (c *Client) Open(ctx context.Context, uri string) (*Resource, error) {
	name, _ := Split(uri)
	return c.open(ctx, name)
}

// open opens a resource by its name, without fragment.
func (c *Client) open(ctx context.Context, name string) (*Resource, error) {
	s := secretsOf(name, c.Header)
	source, err := c.openSource(ctx, name, s, false)
	if err != nil {
		return nil, err
	}
	limits := c.Limits.WithDefaults()
	w := seek.NewWindow(ctx, source, limits.Window)
	r := &Resource{
		client:  c,
		window:  w,
		sources: &sources{client: c, origin: name, source: source, secrets: s, window: w, open: make(map[string]seek.Source)},
		clips:   make(map[*Clip]struct{}),
	}
	r.Media, err = c.recognise(ctx, name, w, formats.Env{Limits: limits, Opener: r.sources, Growing: c.Growing, Variant: c.Variant, Tracks: c.Tracks})
	if err != nil {
		w.Close()
		return nil, err
	}
	return r, nil
}

// recognise finds the container and opens it. It does not wait for the last
// bytes.
func (c *Client) recognise(ctx context.Context, name string, w *seek.Window, env formats.Env) (formats.Media, error) {
	known := c.Formats
	if known == nil {
		known = DefaultFormats()
	}
	first := seek.Request{Range: seek.Range{Length: edge}, Purpose: seek.Head, Note: "head"}
	if namesManifest(known, name) {
		first = seek.Request{Range: whole, Purpose: seek.Playlist, Note: "playlist"}
	} else {
		w.Prefetch(first, seek.Request{Range: seek.Suffix(edge), Purpose: seek.Tail, Note: "tail"})
	}
	got, err := w.Read(ctx, first)
	if err != nil {
		return nil, err
	}
	format, err := detect(known, got[0][:min(len(got[0]), edge)], w.Info())
	if err != nil {
		return nil, err
	}
	return format.Open(ctx, w, env)
}

// Clip opens the medium, resolves the fragment of its URI and returns the clip:
// [Client.Open], [Resource.Clip] and one Close for both. A URI without a valid
// fragment is [formats.ErrNoFragment]; open the resource to read all of it. The
// clip can be read until ctx ends.
func (c *Client) Clip(ctx context.Context, uri string) (*Clip, error) {
	name, f := Split(uri)
	if !formats.Selects(f) {
		return nil, noFragment(name, f)
	}
	r, err := c.open(ctx, name)
	if err != nil {
		return nil, err
	}
	clip, err := r.Clip(ctx, f)
	if err != nil {
		r.Close()
		return nil, err
	}
	clip.whole = r
	return clip, nil
}
