package main

import (
	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/fragment"
)

// target is what an argument names: a resource, and what of it.
type target struct {
	uri      string // as given, without user information
	resource string // as given, without the fragment
	fragment fragment.Fragment
}

// target reads an argument, and the flags that select.
func (a *app) target(arg string) (*target, error) {
	if arg == "" {
		return nil, usagef("the URI is empty")
	}
	t := &target{uri: withoutUser(arg)}
	t.resource, t.fragment = client.Split(arg)
	return t, a.flags.addTo(&t.fragment)
}
