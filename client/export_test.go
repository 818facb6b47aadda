package client

import (
	"context"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

// What the tests see beside the exported.

// OpenSource opens a resource by its name, as Open does.
func (c *Client) OpenSource(ctx context.Context, name string) (seek.Source, error) {
	return c.openSource(ctx, name, secretsOf(name, c.Header), false)
}

// Hurry makes the waits between attempts as short as can be.
func (c *Client) Hurry() {
	c.pace = pace{first: time.Millisecond, most: 2 * time.Millisecond, retryAfter: 5 * time.Millisecond}
}

// Limits that tests stand next to.
const (
	CheapSkip    = cheapSkip
	MaxRetries   = maxRetries
	MaxRedirects = maxRedirects
	BreaksFree   = breaksFree
)
