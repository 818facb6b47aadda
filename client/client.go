package client

import (
	"context"
	"net/http"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// DefaultIdleTimeout is how long a Client waits for the next byte.
const DefaultIdleTimeout = 30 * time.Second

// Client opens media. The zero value is ready to use; its fields must not be
// changed once it is in use. A Client may be used concurrently.
type Client struct {
	// HTTP sends the requests for http and https. Nil means a client of its own
	// with as many idle connections for each host as Parallel. Retries, ranges
	// and timeouts are this package's; http.Client.Timeout would cut long clips
	// and should be 0.
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
	// Observer is told about every request. It may be nil.
	Observer seek.Observer
	// Limits bound what one resource may cost. Zero fields have defaults.
	Limits formats.Limits
	// Parallel is how many ranges are fetched at a time. 0 means 4.
	Parallel int
	// IdleTimeout is how long to wait for an answer or for the next byte of a
	// body before trying again; it never limits the whole. 0 means
	// [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// Growing says that resources may grow while they are read: a larger size
	// or a newer validator is no change.
	Growing bool
}

// Open opens the medium that uri names; a fragment of uri is ignored here.
// Close the Resource when done.
func (c *Client) Open(ctx context.Context, uri string) (*Resource, error) {
	return nil, nil
}

// Clip opens the medium, resolves the fragment of its URI and returns the clip:
// [Client.Open], [Resource.Clip] and one Close for both. A URI without a valid
// fragment is [formats.ErrNoFragment]; open the resource to read all of it.
func (c *Client) Clip(ctx context.Context, uri string) (*Clip, error) {
	return nil, nil
}

// Resource is an open medium. It may be used concurrently until it is closed.
type Resource struct {
	formats.Media
}

// Info says what is known of the resource itself: name, type, validator, size.
func (r *Resource) Source() seek.Info { return seek.Info{} }

// Clip resolves a fragment against the medium and returns the clip.
func (r *Resource) Clip(ctx context.Context, f fragment.Fragment) (*Clip, error) { return nil, nil }

// Select resolves a selection and returns the clip.
func (r *Resource) Select(ctx context.Context, s formats.Selection) (*Clip, error) { return nil, nil }

// Read returns the clip of a plan, made from this resource earlier or
// elsewhere.
func (r *Resource) Read(ctx context.Context, p *formats.Plan) *Clip { return nil }

// Close ends what the resource still does, and waits for it. Clips that are
// being read end with an error.
func (r *Resource) Close() error { return nil }

// Clip is a fragment of a medium, as a playable file: an io.Reader, io.WriterTo,
// io.Seeker and io.ReaderAt. See [seek.Reader] for what may run side by side.
type Clip struct {
	*seek.Reader
	// Plan is what the Reader delivers.
	Plan *formats.Plan
}
