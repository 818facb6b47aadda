package client_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/samples"
)

// liveWebM is the built-in sample of WebM as it would be streamed: of unknown
// length, without Duration, SeekHead and Cues.
func liveWebM(t *testing.T) []byte {
	t.Helper()
	for _, s := range samples.All() {
		if s.MediaType != "video/webm" {
			continue
		}
		data := bytes.Clone(s.Data)
		segment := bytes.Index(data, []byte{0x18, 0x53, 0x80, 0x67, 0x01})
		duration := bytes.Index(data, []byte{0x44, 0x89, 0x88})
		if segment < 0 || duration < 0 {
			t.Fatal("the sample is written in another way")
		}
		copy(data[segment+5:], bytes.Repeat([]byte{0xFF}, 7))
		copy(data[duration:], []byte{0xEC, 0x89})
		for _, id := range [][]byte{{0x11, 0x4D, 0x9B, 0x74}, {0x1C, 0x53, 0xBB, 0x6B}} { // become Void
			at := bytes.LastIndex(data, id)
			if at < 0 {
				continue
			}
			var size uint64
			n := 1
			for mask := byte(0x80); data[at+4]&mask == 0; mask >>= 1 {
				n++
			}
			for i, b := range data[at+4 : at+4+n] {
				if i == 0 {
					b &= 0xFF >> n
				}
				size = size<<8 | uint64(b)
			}
			wide := min(n+3, 8)
			size += uint64(n + 3 - wide)
			var head [8]byte
			binary.BigEndian.PutUint64(head[:], size|1<<(7*wide))
			data[at] = 0xEC
			copy(data[at+1:], head[8-wide:])
		}
		return data
	}
	t.Fatal("no sample of WebM")
	return nil
}

// A live recording, of a server that tells no length of ranges or sends it
// for ever, gives the clips that it gives as a file.
func TestWebMOfUnknownLength(t *testing.T) {
	data := liveWebM(t)
	sized := openOgg(t, oggClient(t, &client.Client{}), write(t, data))
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Write(data)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	tests := []struct {
		name    string
		serve   http.HandlerFunc
		endless bool
	}{
		{"ranges of *", rangesOfUnknown(data), false},
		{"for ever", endless, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.serve)
			t.Cleanup(server.Close)
			r := openOgg(t, oggClient(t, &client.Client{}), server.URL+"/m.webm")
			for _, s := range []formats.Selection{{Interval: part(2, 5, 1)}, {Interval: part(0, 1, 1)}, {Interval: part(11, 14, 1)}} {
				got, err := clipOf(t, r, s)
				if err != nil {
					t.Fatalf("%v: %v", s.Interval, err)
				}
				sameClip(t, got, sized, s)
			}
			i, err := r.Inspect(t.Context())
			if err != nil || len(i.Tracks) != 2 || i.Timed == tt.endless {
				t.Errorf("inspected: %+v, %v", i, err)
			}
			if tt.endless {
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
}

// A recording that goes on while it is open, at servers with and without ranges
// from the end: a later selection sees what was appended.
func TestWebMGrowing(t *testing.T) {
	data := liveWebM(t)
	fixed := openOgg(t, oggClient(t, &client.Client{}), write(t, data))
	info, err := fixed.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := int64(info.Duration.Seconds())
	later := formats.Selection{Interval: part(end-2, end-1, 1)}
	for _, suffix := range []bool{true, false} {
		var length atomic.Int64
		length.Store(int64(len(data) / 2))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Range"), "bytes=-") && !suffix {
				w.WriteHeader(http.StatusNotImplemented)
				return
			}
			w.Header().Set("Content-Type", "video/webm")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data[:length.Load()]))
		}))
		defer server.Close()
		r := openOgg(t, oggClient(t, &client.Client{Growing: true}), server.URL+"/m.webm")
		if _, err := clipOf(t, r, later); !errors.Is(err, formats.ErrPastEnd) {
			t.Errorf("ranges from the end %v: an interval that is yet to come: %v", suffix, err)
		}
		length.Store(int64(len(data)))
		got, err := clipOf(t, r, later)
		if err != nil {
			t.Fatalf("ranges from the end %v: %v", suffix, err)
		}
		sameClip(t, got, fixed, later)
	}
}
