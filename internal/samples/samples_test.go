package samples

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// maxSample is what each sample may add to a program, in bytes.
const maxSample = 400_000

func TestSamplesAreSmall(t *testing.T) {
	if len(All()) == 0 {
		t.Fatal("there are no samples")
	}
	for _, s := range All() {
		if len(s.Data) == 0 || len(s.Data) > maxSample {
			t.Errorf("%s has %d bytes, want 1 to %d", s.Name, len(s.Data), maxSample)
		}
	}
}

func TestHandlerServesRanges(t *testing.T) {
	server := httptest.NewServer(Handler())
	defer server.Close()
	for _, s := range All() {
		req, err := http.NewRequest("GET", server.URL+"/"+s.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Range", "bytes=100-199")
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusPartialContent || !bytes.Equal(got, s.Data[100:200]) {
			t.Errorf("%s: status %s, %d bytes; want 206 and bytes 100 to 199", s.Name, resp.Status, len(got))
		}
		if etag := resp.Header.Get("ETag"); etag == "" || etag[0] != '"' {
			t.Errorf("%s: ETag %q, want a strong one", s.Name, etag)
		}
		if resp.Header.Get("Content-Type") != s.MediaType {
			t.Errorf("%s: Content-Type %q, want %q", s.Name, resp.Header.Get("Content-Type"), s.MediaType)
		}
	}
}
