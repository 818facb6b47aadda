package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// usageError is wrong usage: nothing was done.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// strictError is what --strict makes of warnings. Everything was printed.
type strictError struct{ warnings int }

func (e *strictError) Error() string {
	return fmt.Sprintf("%d warning(s), which --strict does not allow", e.warnings)
}

// uriError is a failure on the way of one URI.
type uriError struct {
	uri string
	err error
}

func (e *uriError) Error() string { return e.err.Error() }
func (e *uriError) Unwrap() error { return e.err }

// about notes which URI a failure is about.
func (t *target) about(err error) error {
	if err == nil {
		return nil
	}
	return &uriError{t.uri, err}
}

// failure is an error as the command line tells it.
type failure struct {
	Kind    string  `json:"kind"`
	Message string  `json:"message"`
	URL     *string `json:"url"`
	Offset  *int64  `json:"offset"`
	status  int
	silent  bool // everything that belongs on standard output is there
}

// rule says what one condition is on the command line, and what to try where
// the error does not say so itself.
type rule struct {
	condition error
	kind      string
	status    int
	try       string
}

// rules are looked through in order: the first condition that holds counts.
var rules = []rule{
	{seek.ErrChanged, "changed", exitServer, "run it again once the resource is at rest"},
	{seek.ErrNoRanges, "range", exitServer, "ask for ranges at the server, or download the whole and use the file"},
	{seek.ErrNotFound, "status", exitServer, "check the address"},
	{seek.ErrForbidden, "status", exitServer, "give credentials with --header 'Authorization: …'"},
	{seek.ErrUnavailable, "status", exitServer, "try again later"},
	{formats.ErrPastEnd, "past-end", exitNothing, "choose an earlier start"},
	{formats.ErrNoFragment, "no-fragment", exitNothing, "add '#t=60,100' to the URI or give --time 60,100; --whole takes everything"},
	{formats.ErrNothing, "no-fragment", exitNothing, "choose a longer interval, or another; 'mediafrag info' says what there is"},
	{formats.ErrNoTrack, "no-fragment", exitNothing, "see 'mediafrag info' for what there is"},
	{seek.ErrLimit, "limit", exitMedia, "such a medium costs more than is safe to spend on what it claims of itself"},
	{formats.ErrDamaged, "damaged", exitMedia, "check that the whole file plays"},
	{formats.ErrUnknownFormat, "format", exitMedia, "check that the address is that of a medium, not of a page about it"},
	{formats.ErrUnsupported, "format", exitMedia, "see the README for what each container supports"},
}

// diagnose finds out what an error is on the command line.
func diagnose(ctx context.Context, err error) *failure {
	f := &failure{Kind: "io", Message: err.Error(), status: exitFailure}
	var usage *usageError
	var strict *strictError
	switch {
	case errors.As(err, &usage):
		f.Kind, f.status = "usage", exitUsage
	case errors.As(err, &strict):
		f.silent = true
	case ctx.Err() != nil:
		f.Message, f.status = "interrupted", exitInterrupted
	default:
		f.apply(err)
	}
	f.locate(err)
	return f
}

// apply looks the error up in the rules.
func (f *failure) apply(err error) {
	for _, r := range rules {
		if !errors.Is(err, r.condition) {
			continue
		}
		if r.status == exitServer && !remote(err) { // a local file: its error says all there is
			if r.condition == seek.ErrChanged {
				f.Kind = r.kind
			}
			return
		}
		f.Kind, f.status = r.kind, r.status
		var answer *client.StatusError
		if r.kind == "status" && !(errors.As(err, &answer) && answer.Status != 0) {
			f.Kind = "io" // there was no answer to have a status
		}
		if !strings.Contains(f.Message, "; ") {
			f.Message += "; " + cmp.Or(unreachable(err), r.try)
		}
		return
	}
}

// unreachable says what to try where there was no answer at all, "" where there
// was one or nothing better is known than to try again.
func unreachable(err error) string {
	var answer *client.StatusError
	if errors.As(err, &answer) && answer.Status != 0 {
		return ""
	}
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns):
		return "check the host's name, and that this machine is on the network"
	case errors.As(err, &cert):
		return "check the host's name and this machine's clock; a certificate of one's own is to be installed on this machine"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "check whether the address should begin with http:// or https://"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "check the host's name and port: nothing listens there"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "check the network between this machine and the host"
	}
	return ""
}

// remote reports whether a failure is about a resource over the network.
func remote(err error) bool {
	var located *uriError
	if !errors.As(err, &located) {
		return false
	}
	scheme, _, _ := strings.Cut(located.uri, ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// locate fills in where it happened.
func (f *failure) locate(err error) {
	var located *uriError
	if errors.As(err, &located) {
		url := redactURL(located.uri)
		f.URL = &url
		where, _, _ := strings.Cut(url, "#")
		if !strings.Contains(f.Message, where) && f.Kind != "usage" && f.status != exitInterrupted {
			f.Message = where + ": " + f.Message
		}
	}
	var medium *formats.Error
	var body *seek.ReadError
	switch {
	case errors.As(err, &medium) && medium.Offset >= 0:
		f.Offset = &medium.Offset
	case errors.As(err, &body):
		f.Offset = &body.Offset
	}
}

// report prints a failure: one line on standard error and, with --json, one
// object on standard output.
func (a *app) report(f *failure) {
	f.Message = a.redact(oneLine(f.Message))
	a.note("mediafrag: %s", f.Message)
	if a.wantsJSON() && !f.silent {
		a.printJSON(struct {
			Error *failure `json:"error"`
		}{f})
	}
}

// wantsJSON reports whether --json was given, also where reading the command
// line failed before it.
func (a *app) wantsJSON() bool {
	if a.flags.json {
		return true
	}
	for _, arg := range a.args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}
