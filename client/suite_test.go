package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

// host is a server that behaves well, as a suite sees it.
type host struct {
	url string // serves what put puts; the same below "/noranges" without ranges
	put func(path string, content []byte)
}

// The suite is what any good server of files answers; it runs against our own
// and against nginx, so that ours cannot be wrong where the client is, too.
func TestSuite(t *testing.T) {
	server := faultserver.Start(t, faultserver.Config{})
	version := 0
	testSuite(t, host{url: server.URL, put: func(path string, content []byte) {
		version++
		f := tagged(content, fmt.Sprint(version))
		f.Type = "video/mp4"
		server.Set(path, f)
		server.Set("/noranges"+path, f)
		server.Fault(func(_ int, r *http.Request) faultserver.Fault {
			return faultserver.Fault{IgnoreRange: strings.HasPrefix(r.URL.Path, "/noranges/")}
		})
	}})
}

func TestSuiteNginx(t *testing.T) {
	tools.Need(t, "nginx")
	prefix := t.TempDir()
	root := filepath.Join(prefix, "root")
	version := 0
	testSuite(t, host{url: startNginx(t, prefix), put: func(path string, content []byte) {
		version++ // the time of a file is its version: one second each
		path = writeFile(t, root, path, content)
		check(t, os.Chtimes(path, time.Time{}, longAgo.Add(time.Duration(version)*time.Second)))
	}})
}

const nginxConfig = `
worker_processes 1;
daemon off;
error_log error.log;
pid nginx.pid;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp; uwsgi_temp_path temp; scgi_temp_path temp;
	types { video/mp4 fake; text/plain list; }
	gzip on; gzip_types *; gzip_min_length 1;
	root root;
	server {
		listen 127.0.0.1:%d;
		location /noranges/ { alias root/; max_ranges 0; }
	}
}
`

// startNginx starts nginx below prefix and returns its URL. It ends with the
// test.
func startNginx(t *testing.T, prefix string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	check(t, err)
	address := l.Addr().(*net.TCPAddr)
	check(t, l.Close())
	config := fmt.Sprintf(nginxConfig, address.Port)
	if os.Geteuid() == 0 { // else its worker may not read what the test writes
		config = "user root;" + config
	}
	writeFile(t, prefix, "nginx.conf", []byte(config))
	check(t, os.Mkdir(filepath.Join(prefix, "root"), 0o755))
	cmd := exec.Command("nginx", "-p", prefix, "-c", "nginx.conf", "-e", "error.log")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	check(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		<-ended
	})
	for {
		c, err := net.Dial("tcp", address.String())
		if err == nil {
			c.Close()
			return "http://" + address.String()
		}
		select {
		case <-ended:
			t.Fatalf("nginx: %s", output.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func testSuite(t *testing.T, h host) {
	content := medium(3 << 20)
	size := int64(len(content))
	h.put("/m.fake", content)
	h.put("/small.fake", content[:1000])
	h.put("/empty.fake", nil)

	t.Run("ranges", func(t *testing.T) {
		s := newSource(t, h.url+"/m.fake")
		for _, r := range []seek.Range{
			{Offset: 0, Length: 1}, {Offset: 0, Length: 65536}, {Offset: 2 << 20, Length: 1000}, {Offset: size - 1, Length: 1},
			{Offset: size - 10, Length: 1000}, {Offset: 1000, Length: seek.ToEnd}, {Offset: 0, Length: seek.ToEnd}, {Offset: size, Length: 10},
		} {
			end := size
			if r.Length >= 0 {
				end = min(size, r.End())
			}
			body := wantBytes(t, s, seek.Request{Range: r}, content[r.Offset:end])
			if body.Size != size || body.Offset != r.Offset || body.MediaType != "video/mp4" || body.Validator == "" {
				t.Errorf("%s: offset %d, info %+v", r, body.Offset, body.Info)
			}
		}
	})
	t.Run("suffixes", func(t *testing.T) {
		for _, n := range []int64{1, 65536, size, size + 1} {
			body := wantBytes(t, newSource(t, h.url+"/m.fake"), suffix(n), content[max(0, size-n):])
			if body.Size != size || body.Offset != max(0, size-n) {
				t.Errorf("%d: offset %d, size %d", n, body.Offset, body.Size)
			}
		}
	})
	t.Run("behind the end", func(t *testing.T) {
		wantBytes(t, newSource(t, h.url+"/m.fake"), span(size, 10), nil)
		wantBytes(t, newSource(t, h.url+"/m.fake"), span(size+1000, seek.ToEnd), nil)
	})
	t.Run("empty", func(t *testing.T) {
		for _, r := range []seek.Request{span(0, 65536), span(0, seek.ToEnd), suffix(65536)} {
			s := newSource(t, h.url+"/empty.fake")
			if body := wantBytes(t, s, r, nil); body.Size != 0 {
				t.Errorf("%s: size %d", r.Range, body.Size)
			}
		}
	})
	t.Run("nothing there", func(t *testing.T) {
		wantError(t, newSource(t, h.url+"/none.fake"), span(0, 10), seek.ErrNotFound, nil)
	})
	t.Run("without ranges", func(t *testing.T) {
		s := newSource(t, h.url+"/noranges/m.fake")
		wantBytes(t, s, span(0, 65536), content[:65536])
		wantBytes(t, s, span(1000, 1000), content[1000:2000])
		wantError(t, s, span(2<<20, 10), seek.ErrNoRanges, nil)
		wantError(t, newSource(t, h.url+"/noranges/m.fake"), suffix(10), seek.ErrNoRanges, nil)
		wantBytes(t, newSource(t, h.url+"/noranges/small.fake"), suffix(1000), content[:1000])
	})
	t.Run("change", func(t *testing.T) {
		s := newSource(t, h.url+"/changing.fake")
		h.put("/changing.fake", content)
		wantBytes(t, s, span(0, 10), content[:10])
		h.put("/changing.fake", otherMedium(len(content)))
		wantError(t, s, span(10, 10), seek.ErrChanged, nil)
	})
	t.Run("growing", func(t *testing.T) {
		h.put("/growing.fake", content[:1<<20])
		s := sourceOf(t, hurried(t, &client.Client{Growing: true}), h.url+"/growing.fake")
		wantBytes(t, s, suffix(10), content[1<<20-10:1<<20])
		h.put("/growing.fake", content)
		wantBytes(t, s, suffix(10), content[size-10:])
		wantBytes(t, s, span(2<<20, 10), content[2<<20:2<<20+10])
	})
	t.Run("connections", func(t *testing.T) {
		var totals seek.Totals
		s := sourceOf(t, hurried(t, &client.Client{Observer: &totals}), h.url+"/m.fake")
		for i := range int64(10) {
			wantBytes(t, s, span(i*1000, 1000), content[i*1000:i*1000+1000])
		}
		if got := totals.Transfer(); got.Connections != 1 || got.Requests != 10 || got.RoundTrips != 10 || got.Bytes != 10_000 {
			t.Errorf("%+v, want 10 requests over 1 connection", got)
		}
	})
	t.Run("clips", func(t *testing.T) {
		c := hurried(t, &client.Client{})
		r, err := c.Open(context.Background(), h.url+"/m.fake")
		check(t, err)
		defer r.Close()
		var wg sync.WaitGroup
		for i := range int64(8) {
			wg.Go(func() {
				start := i * 300
				clip, err := r.Clip(context.Background(), fragmentOf(fmt.Sprintf("t=%d,%d", start, start+300)))
				if err != nil {
					t.Error(err)
					return
				}
				defer clip.Close()
				got, err := io.ReadAll(clip)
				if from := 4 + start*1000; err != nil || !bytes.Equal(got[4:], content[from:from+300_000]) {
					t.Errorf("clip %d: %d bytes, %v", i, len(got), err)
				}
			})
		}
		wg.Wait()
	})
	t.Run("playlist", func(t *testing.T) {
		h.put("/p.list", []byte("fake\n"+h.url+"/m.fake\n"+h.url+"/m.fake\n"))
		clip, err := hurried(t, &client.Client{}).Clip(context.Background(), h.url+"/p.list#t=0,1")
		check(t, err)
		defer clip.Close()
		got, err := io.ReadAll(clip)
		if want := string(content[4:1004]) + string(content[4:1004]); err != nil || string(got) != want {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}
