package client_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/internal/samples"
	"github.com/mediafrag/mediafrag/seek"
)

// ogv is the built-in Ogg sample: pictures and sound of 20 s.
func ogv(t *testing.T) []byte {
	t.Helper()
	for _, s := range samples.All() {
		if s.MediaType == "video/ogg" {
			return s.Data
		}
	}
	t.Fatal("no sample of Ogg")
	return nil
}

// mediaPages returns the offsets of the pages of media: the first of all streams,
// and those behind it.
func mediaPages(data []byte) (offsets []int) {
	for at := 0; at < len(data); {
		p := data[at:]
		size := 27 + int(p[26])
		for _, l := range p[27:size] {
			size += int(l)
		}
		if len(offsets) > 0 || binary.LittleEndian.Uint64(p[6:]) != 0 { // a granule position other than 0
			offsets = append(offsets, at)
		}
		at += size
	}
	return offsets
}

func write(t *testing.T, data []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "m.ogv")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// clipOf returns the bytes of a clip.
func clipOf(t *testing.T, r *client.Resource, s formats.Selection) ([]byte, error) {
	clip, err := r.Select(t.Context(), s)
	if err != nil {
		return nil, err
	}
	defer clip.Close()
	var out bytes.Buffer
	_, err = clip.WriteTo(&out)
	return out.Bytes(), err
}

// sameClip fails the test unless a clip is the one that a resource gives of a
// selection.
func sameClip(t *testing.T, clip []byte, from *client.Resource, s formats.Selection) {
	t.Helper()
	if want, err := clipOf(t, from, s); err != nil || !bytes.Equal(clip, want) {
		t.Errorf("%v: %d bytes, not the %d of another resource; %v", s.Interval, len(clip), len(want), err)
	}
}

// oggClient is a client that knows what is built in.
func oggClient(t *testing.T, c *client.Client) *client.Client {
	t.Helper()
	hurried(t, c).Formats = nil
	return c
}

// openOgg opens a resource until the test ends.
func openOgg(t *testing.T, c *client.Client, uri string) *client.Resource {
	t.Helper()
	r, err := c.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// rangesOfUnknown serves ranges of data and never says how many bytes there are.
func rangesOfUnknown(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var first, last int
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); n != 2 || first < 0 || first >= len(data) {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		last = min(last, len(data)-1)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/*", first, last))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(data[first : last+1])
	}
}

// A server that tells no length, of ranges or at all, gives the same clips as
// one that does; a radio station that never ends gives those that lie in what it
// has sent.
func TestOggOfUnknownLength(t *testing.T) {
	data := ogv(t)
	sized := openOgg(t, oggClient(t, &client.Client{}), faultserver.Start(t, faultserver.Config{
		Files: map[string]faultserver.File{"/m.ogv": {Content: data, Type: "video/ogg"}},
	}).URL+"/m.ogv")
	chunked := func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		w.Write(data)
	}
	var mu sync.Mutex
	var listeners int
	var heard []byte // what the one hears who asks for all: the headers, and on from where the station has come to
	radio := func(w http.ResponseWriter, r *http.Request) {
		pages := mediaPages(data)
		mu.Lock()
		hears := append(bytes.Clone(data[:pages[0]]), data[pages[2*listeners]:]...)
		listeners++
		if r.Header.Get("Range") == "" {
			heard = hears
		}
		mu.Unlock()
		w.Write(hears)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	tests := []struct {
		name    string
		serve   http.HandlerFunc
		endless bool
	}{
		{"ranges of *", rangesOfUnknown(data), false},
		{"no ranges, chunked", chunked, false},
		{"radio", radio, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.serve)
			t.Cleanup(server.Close)
			r := openOgg(t, oggClient(t, &client.Client{}), server.URL+"/m.ogv")
			for _, i := range []formats.Selection{{Interval: part(2, 5, 1)}, {Interval: part(0, 1, 1)}, {Interval: part(11, 14, 1)}} {
				got, err := clipOf(t, r, i)
				if err != nil {
					t.Fatalf("%v: %v", i.Interval, err)
				}
				from := sized
				if tt.endless {
					mu.Lock()
					from = openOgg(t, oggClient(t, &client.Client{}), write(t, heard))
					mu.Unlock()
				}
				sameClip(t, got, from, i)
			}
			if tt.endless {
				if i, err := r.Inspect(t.Context()); err != nil || i.Timed || len(i.Tracks) != 2 {
					t.Errorf("inspected: %+v, %v", i, err)
				}
				mu.Lock()
				if listeners != 3 { // the first bytes, the last, and one request for all
					t.Errorf("%d requests", listeners)
				}
				mu.Unlock()
				return
			}
			open := formats.Selection{Interval: part(15, 99, 1)}
			open.Interval.Open = true
			got, err := clipOf(t, r, open)
			if err != nil {
				t.Fatalf("to the end: %v", err)
			}
			sameClip(t, got, sized, open)
		})
	}
	t.Run("radio, more than is held", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(radio))
		t.Cleanup(server.Close)
		r := openOgg(t, oggClient(t, &client.Client{Limits: formats.Limits{Window: 128 << 10}}), server.URL)
		_, err := clipOf(t, r, formats.Selection{Interval: part(17, 19, 1)})
		var e *formats.Error
		if !errors.Is(err, seek.ErrLimit) || !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%v, want a limit and a hint", err)
		}
	})
}

// A recording that goes on while it is open, at a server and on disk: a later
// selection sees what was appended.
func TestOggGrowing(t *testing.T) {
	data := ogv(t)
	half := data[:len(data)/2]
	path := filepath.Join(t.TempDir(), "m.ogv")
	server := faultserver.Start(t, faultserver.Config{})
	put := func(content []byte, tag string) {
		server.Set("/m.ogv", faultserver.File{Content: content, ETag: `"` + tag + `"`, Type: "video/ogg"})
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{server.URL + "/m.ogv", path} {
		put(half, "1")
		r := openOgg(t, oggClient(t, &client.Client{Growing: true}), name)
		later := formats.Selection{Interval: part(15, 18, 1)}
		if _, err := clipOf(t, r, later); !errors.Is(err, formats.ErrPastEnd) {
			t.Errorf("%s: an interval that is yet to come: %v", name, err)
		}
		early, err := clipOf(t, r, formats.Selection{Interval: part(2, 5, 1)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		put(data, "2")
		got, err := clipOf(t, r, later)
		fixed := openOgg(t, oggClient(t, &client.Client{}), name)
		if want, _ := clipOf(t, fixed, later); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, not %d; %v", name, len(got), len(want), err)
		}
		most := formats.Selection{Interval: part(2, 18, 1)}
		got, err = clipOf(t, r, most)
		if want, _ := clipOf(t, fixed, most); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: old and new together: %d bytes, not %d; %v", name, len(got), len(want), err)
		}
		if again, err := clipOf(t, r, formats.Selection{Interval: part(2, 5, 1)}); err != nil || !bytes.Equal(again, early) {
			t.Errorf("%s: what was there before: %v", name, err)
		}
		if i, err := r.Inspect(t.Context()); err != nil || i.Duration.Round(1) != 20 {
			t.Errorf("%s: %s s, %v", name, i.Duration, err)
		}
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// oggChecksum is that of a page whose own is zero (RFC 3533, section 6).
func oggChecksum(page []byte) (crc uint32) {
	for _, b := range page {
		crc ^= uint32(b) << 24
		for range 8 {
			crc = crc<<1 ^ crc>>31*0x04c11db7
		}
	}
	return crc
}

// A server that replaces the file and tells no versions apart: where the length is
// the same too, the pages of both do not fit together, and that is told. Nothing of
// the other version's length is taken at all.
func TestOggReplacedWithoutValidator(t *testing.T) {
	old := ogv(t)
	pages := mediaPages(old)
	at := pages[0]
	shifted := func(n int) []byte { // the same pages, of which the first media page comes n times
		out := bytes.Clone(old[:at])
		for range n {
			out = append(out, old[at:pages[1]]...)
		}
		return append(out, old[at:]...)
	}
	serials := bytes.Clone(old) // of another recording
	for i, p := range pages {
		end := len(serials)
		if i+1 < len(pages) {
			end = pages[i+1]
		}
		serials[p+14] ^= 0x55
		clear(serials[p+22 : p+26])
		binary.LittleEndian.PutUint32(serials[p+22:], oggChecksum(serials[p:end]))
	}
	flipped := bytes.Clone(old) // and checksums that are not right for it
	for i := at; i < len(flipped); i += 4000 {
		flipped[i] ^= 0x10
	}
	for name, other := range map[string][]byte{
		"shifted":      shifted(1)[:len(old)],
		"serials":      serials,
		"other bytes":  flipped,
		"shorter":      old[:len(old)-1000],
		"longer":       shifted(2),
		"of no format": bytes.Repeat([]byte("error "), len(old)/6+1)[:len(old)],
	} {
		for _, form := range []formats.Form{formats.Standalone, formats.Verbatim} {
			t.Run(fmt.Sprint(name, " ", form), func(t *testing.T) {
				t.Parallel()
				server := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{"/m.ogv": {Content: old, Type: "video/ogg"}}})
				c := &client.Client{}
				t.Cleanup(c.CloseIdleConnections)
				r, err := c.Open(t.Context(), server.URL+"/m.ogv")
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				clip, err := r.Select(t.Context(), formats.Selection{Interval: fragment.Between(fragment.FromSeconds(3), fragment.FromSeconds(17)), Form: form})
				if err != nil {
					t.Fatal(err)
				}
				defer clip.Close()
				server.Set("/m.ogv", faultserver.File{Content: other, Type: "video/ogg"})
				server.Reset()
				got, err := io.ReadAll(clip)
				if server.Stats().Requests == 0 {
					t.Fatal("nothing was asked for after the change")
				}
				t.Logf("%d bytes, %v, damage %v", len(got), err, clip.Damage())
				if err == nil && len(clip.Damage()) == 0 {
					t.Errorf("two versions were mixed in %d bytes and nothing says so", len(got))
				}
			})
		}
	}
}
