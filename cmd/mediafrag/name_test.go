package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/fragment"
)

func TestClipName(t *testing.T) {
	tests := []struct{ uri, want string }{
		{"https://host/movie.mp4#t=60,100", "movie.t60-100.mp4"},
		{"https://host/movie.mp4#t=60", "movie.t60.mp4"},
		{"https://host/movie.mp4#t=,100", "movie.t0-100.mp4"},
		{"https://host/movie.mp4#t=1:01:01.5,2:00:00", "movie.t3661.5-7200.mp4"},
		{"https://host/movie.mp4#t=0.1234567891", "movie.t0.123456789.mp4"},
		{"https://host/movie.mp4", "movie.mp4"},
		{"https://host/a/b.c/movie.tar.mp4?x=/y.z#t=1,2", "movie.tar.t1-2.mp4"},
		{"https://host/talk#t=1,2", "talk.t1-2"},
		{"https://host/#t=1,2", "media.t1-2"},
		{"https://host#t=1,2", "media.t1-2"},
		{"https://host?x=y.mp4#t=1,2", "media.t1-2"},
		{"movie.mp4#t=1,2", "movie.t1-2.mp4"},
		{"folder/movie.mp4#t=1,2", "movie.t1-2.mp4"},
		{"what?.mp4#t=1,2", "what_.t1-2.mp4"},
		{"file:///tmp/a%20b.mp4#t=1,2", "a b.t1-2.mp4"},
		{"file:movie.mp4#t=1,2", "movie.t1-2.mp4"},
		// Decoding is safe.
		{"https://host/..%2F..%2Fetc%2Fpasswd#t=1,2", "_.._etc_passwd.t1-2"},
		{"https://host/%2e%2e#t=1,2", "media.t1-2"},
		{"https://host/a%00b%0a.mp4#t=1,2", "a_b_.t1-2.mp4"},
		{"https://host/%ff%fe.mp4#t=1,2", "__.t1-2.mp4"},
		{"https://host/100%.mp4#t=1,2", "100%.t1-2.mp4"},
		{"https://host/%C3%A9t%C3%A9.mp4#t=1,2", "été.t1-2.mp4"},
		{"https://host/%E2%80%AEgpj.mp4#t=1,2", "_gpj.t1-2.mp4"}, // a mark that turns the text around
		{"https://host/a%5Cb%3A*.mp4#t=1,2", "a_b__.t1-2.mp4"},
		{"https://host/-rf.mp4#t=1,2", "_-rf.t1-2.mp4"},
		{"https://host/.hidden.mp4#t=1,2", "hidden.t1-2.mp4"},
		{"https://host/con.mp4#t=1,2", "_con.t1-2.mp4"},
		{"https://host/a.no%20extension#t=1,2", "a.no extension.t1-2"},
	}
	for _, test := range tests {
		var target target
		target.resource, target.fragment = client.Split(test.uri)
		if got := clipName(&target); got != test.want {
			t.Errorf("%s: %q, want %q", test.uri, got, test.want)
		}
	}
}

// TestClipNameOfTracks: --track and, once the fragment's text is read for more
// than its time, tracks and ids stand in the name.
func TestClipNameOfTracks(t *testing.T) {
	id := "chapter 1/2"
	for _, test := range []struct {
		fragment fragment.Fragment
		want     string
	}{
		{fragment.Fragment{Tracks: []string{"audio"}}, "movie.track-audio.mp4"},
		{fragment.Fragment{ID: &id}, "movie.id-chapter 1_2.mp4"},
	} {
		if got := clipName(&target{resource: "https://host/movie.mp4", fragment: test.fragment}); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// FuzzClipName: whatever the URI, the name is one that any file
// system takes, and stays in its folder.
func FuzzClipName(f *testing.F) {
	f.Add("https://host/movie.mp4#t=60,100")
	f.Add("https://host/..%2F..%2Fetc%2Fpasswd#t=1")
	f.Add("https://host/" + strings.Repeat("é", 300) + ".mp4#t=" + strings.Repeat("9", 300))
	f.Add("./...#t=1,2")
	f.Fuzz(func(t *testing.T, uri string) {
		var target target
		target.resource, target.fragment = fragment.Split(uri)
		name := clipName(&target)
		if name != filepath.Base(name) || name == "." || name == ".." || strings.ContainsAny(name, `/\`) || !utf8.ValidString(name) || len(name) > maxName {
			t.Fatalf("%q gives the name %q", uri, name)
		}
	})
}
