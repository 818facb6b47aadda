package hls

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// replicas knows where else the bytes of resources are: at the places of
// playlists that are redundant. The name of such a playlist stands for its place,
// "" for where a resource itself lies.
type replicas interface {
	redundant() bool
	places(name string) []string
	find(ctx context.Context, place, name string, r seek.Range) ([]extract, error)
	companions(name string, r seek.Range) []extent
	steerNow(ctx context.Context)
}

// stretch is what was given out of a resource, and from which place. Bytes of one
// segment only come from a second place where that has also those of the first:
// what was given out is compared with it. The loader's lock guards it.
type stretch struct {
	name  string
	from  int64
	n     int64
	sum   hash.Hash
	place string
	also  []string // other places that have the same bytes
	open  bool     // more may follow
	move  bool     // what follows is to come from the place to
	to    string
}

// at reports whether a place is known to have the stretch.
func (s *stretch) at(place string) bool { return s.place == place || slices.Contains(s.also, place) }

// mostStretches is how many stretches of one resource are remembered.
const mostStretches = 256

// request opens a range of a resource, out of what was asked for ahead where that
// has it.
func (l *loader) request(ctx context.Context, name string, r seek.Request) (*seek.Body, error) {
	if b := l.fromAhead(ctx, name, r); b != nil {
		return b, nil
	}
	return l.requestAnew(ctx, name, r)
}

// requestAnew opens a range of a resource, at another place where its own fails or
// breaks off. The error is that of the resource itself.
func (l *loader) requestAnew(ctx context.Context, name string, r seek.Request) (*seek.Body, error) {
	if !l.replicas.redundant() {
		return l.requestMedia(ctx, name, r)
	}
	b, err := l.steadily(ctx, name, r, nil)
	if err != nil {
		return nil, err
	}
	return &seek.Body{Info: b.info, Offset: b.from.from, ReadCloser: b}, nil
}

// requestMedia opens a range of a resource where it lies. Where a page for people
// is there, reading fails: nothing is read before somebody does.
func (l *loader) requestMedia(ctx context.Context, name string, r seek.Request) (*seek.Body, error) {
	body, err := l.requestOne(ctx, name, r)
	if err == nil && body.Offset == 0 {
		body.ReadCloser = &unlessDocument{ReadCloser: body.ReadCloser, name: name}
	}
	return body, err
}

// unlessDocument is the bytes of a body that is no page for people.
type unlessDocument struct {
	io.ReadCloser
	name  string
	begun bool
	head  []byte // read to find out, not yet given
	err   error
}

func (u *unlessDocument) Read(p []byte) (int, error) {
	u.look()
	if len(u.head) > 0 {
		n := copy(p, u.head)
		u.head = u.head[n:]
		return n, nil
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.ReadCloser.Read(p)
}

// look reads the first bytes, once, and fails where they are a page's. What else
// keeps them from being read is met by whoever reads.
func (u *unlessDocument) look() error {
	if u.begun {
		return nil
	}
	u.begun = true
	head := make([]byte, documentHead)
	n, err := io.ReadFull(u.ReadCloser, head)
	if u.head = head[:n]; isDocument(u.head) {
		u.err = &formats.Error{Container: Name, Element: "segment", Offset: 0, Err: formats.ErrDamaged,
			Problem: fmt.Sprintf("instead of %s came a page that begins with %q", fileName(u.name), u.head), Hint: "open its address in a browser: the page may say why"}
		u.head = nil
		return u.err
	}
	if err != io.ErrUnexpectedEOF {
		u.err = err
	}
	return nil
}

// steadily opens a range of a resource at the first place that has it, but for
// those where it broke off before.
func (l *loader) steadily(ctx context.Context, name string, r seek.Request, broke []string) (*steady, error) {
	b := &steady{l: l, ctx: ctx, name: name, request: r, tried: slices.Clone(broke), broke: broke}
	return b, b.begin()
}

// readWhole reads a range of which nothing is used before all of it is there.
// Where it breaks off, and no other place has the same bytes, it is read from its
// beginning at one that has others.
func (l *loader) readWhole(ctx context.Context, name string, r seek.Request, limit int64) (info seek.Info, off int64, data []byte, err error) {
	if b := l.fromAhead(ctx, name, r); b != nil {
		data, err := readUpTo(b, r.Length, limit)
		b.Close()
		if err == nil {
			return b.Info, b.Offset, data, nil
		}
	}
	if !l.replicas.redundant() {
		body, err := l.requestMedia(ctx, name, r)
		if err != nil {
			return info, 0, nil, err
		}
		defer body.Close()
		data, err := readUpTo(body, r.Length, limit)
		return body.Info, body.Offset, data, err
	}
	var broke []string
	var first error
	for {
		b, err := l.steadily(ctx, name, r, broke)
		if err != nil {
			return info, 0, nil, cmp.Or(first, err)
		}
		data, err := readUpTo(b, r.Length, limit)
		b.Close()
		if err == nil || ctx.Err() != nil || len(b.broke) == len(broke) {
			return b.info, b.from.from, data, err
		}
		l.forget(b.from)
		broke = b.broke
		if first == nil {
			first = err
		}
	}
}

// readUpTo reads about n bytes, or one more than the limit.
func readUpTo(in io.Reader, n, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	if n > 0 && n < limit {
		buf.Grow(int(n) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(io.LimitReader(in, limit+1))
	return buf.Bytes(), err
}

// steady is a body that goes on at another place where one fails.
type steady struct {
	l       *loader
	ctx     context.Context
	name    string
	request seek.Request
	info    seek.Info
	in      io.ReadCloser
	from    *stretch
	tried   []string // places that failed
	broke   []string // those of them that had begun to give bytes
	err     error    // of the last one
}

// begin opens the body at the first place that has it.
func (b *steady) begin() error {
	var first error
	for {
		place, ok := b.next(len(b.tried) > 0)
		if !ok {
			return cmp.Or(first, seek.ErrUnavailable)
		}
		body, err := b.l.openAt(b.ctx, place, b.name, b.request)
		if err == nil {
			err = noDocument(b.name, body)
		}
		if err == nil {
			s := &stretch{name: b.name, from: body.Offset, sum: sha256.New(), place: place, open: true}
			b.l.enter(s)
			if err = b.l.agrees(b.ctx, b.name, b.request.Range, place, s); err == nil {
				b.in, b.info, b.from = body.ReadCloser, body.Info, s
				b.l.served(b.name, place, b.tried, first)
				return nil
			}
			b.l.forget(s)
			body.Close()
		}
		if b.ctx.Err() != nil {
			return err
		}
		b.tried = append(b.tried, place)
		if first == nil {
			first = err
		}
	}
}

// documents are what the pages begin with that servers send instead of an error.
var documents = []string{"<!doctype", "<html", "<head", "<body", "<?xml"}

// documentHead is how many bytes tell a page.
const documentHead = 16

// isDocument reports whether bytes are the beginning not of media but of a page for
// people, such as one that says with status 200 that there is nothing.
func isDocument(head []byte) bool {
	text := strings.ToLower(string(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")))
	return slices.ContainsFunc(documents, func(s string) bool { return strings.HasPrefix(text, s) })
}

// noDocument fails where a body is such a page. The body is closed then.
func noDocument(name string, body *seek.Body) error {
	if body.Offset != 0 {
		return nil
	}
	u := &unlessDocument{ReadCloser: body.ReadCloser, name: name}
	body.ReadCloser = u
	err := u.look()
	if err != nil {
		body.Close()
	}
	return err
}

// fileName is the last element of a resource's path: queries may hold secrets.
func fileName(name string) string {
	if u, err := url.Parse(name); err == nil {
		return path.Base(u.Path)
	}
	return "a segment"
}

// next returns the next place to try. After a failure the steering server is
// asked, once.
func (b *steady) next(failed bool) (place string, ok bool) {
	if failed && len(b.tried) == 1 {
		b.l.replicas.steerNow(b.ctx)
	}
	for _, place := range b.l.toTry(b.name, b.request.Range, failed) {
		if !slices.Contains(b.tried, place) {
			return place, true
		}
	}
	return "", false
}

// Read reads on, from another place where this one fails.
func (b *steady) Read(p []byte) (int, error) {
	for {
		to, move := b.l.moved(b.from)
		if !move && b.err == nil {
			n, err := b.in.Read(p)
			b.l.note(b.from, p[:n])
			switch {
			case err == nil:
				return n, nil
			case err == io.EOF && !b.short():
				return n, io.EOF
			case b.ctx.Err() != nil:
				return n, err
			}
			if b.err = err; err == io.EOF {
				b.err = io.ErrUnexpectedEOF
			}
			place := b.l.placeOf(b.from)
			b.tried, b.broke = append(b.tried, place), append(b.broke, place)
			if n > 0 {
				return n, nil
			}
			continue
		}
		if move {
			if err := b.goOn(to); err != nil {
				return 0, err
			}
			continue
		}
		place, ok := b.next(true)
		if !ok {
			return 0, b.err
		}
		if err := b.goOn(place); err != nil {
			if b.ctx.Err() != nil {
				return 0, err
			}
			b.tried = append(b.tried, place)
			continue
		}
		b.l.served(b.name, place, b.tried, b.err)
		b.err = nil
	}
}

// short reports whether bytes that are known to exist have not come.
func (b *steady) short() bool {
	r := b.request
	return r.Closed() && r.Purpose == seek.Media && b.from.from+b.from.n < r.End()
}

// goOn reads the body from its beginning at another place. What has been given
// out already has to be the same there.
func (b *steady) goOn(place string) error {
	r := b.request
	if end := r.End(); r.Closed() {
		r.Range = seek.Range{Offset: b.from.from, Length: end - b.from.from}
	} else {
		r.Range = seek.Range{Offset: b.from.from, Length: seek.ToEnd}
	}
	body, err := b.l.openAt(b.ctx, place, b.name, r)
	if err != nil {
		return err
	}
	err = b.l.sameBytes(b.from, body)
	if err == nil {
		err = b.l.agrees(b.ctx, b.name, r.Range, place, b.from)
	}
	if err != nil {
		body.Close()
		return err
	}
	b.in.Close()
	b.in = body
	b.l.settle(b.from, place)
	return nil
}

// Close closes the body.
func (b *steady) Close() error {
	b.l.end(b.from)
	return b.in.Close()
}

// toTry returns the places to try for a range of a resource: first where that
// came from which belongs to it, then its own unless its host is down. Failed
// says that one has failed already.
func (l *loader) toTry(name string, r seek.Range, failed bool) []string {
	var out []string
	l.mu.Lock()
	mixed := l.mixed
	l.mu.Unlock()
	if mixed {
		for _, s := range l.belonging(name, r) {
			if s.place != "" {
				out = append(out, s.place)
			}
		}
	}
	down := l.isDown(hostOf(name))
	if !down {
		out = append(out, "")
	}
	if failed || down {
		out = append(out, l.replicas.places(name)...)
	}
	return append(out, "")
}

// belonging returns copies of the stretches that have to be of one encoding with a
// range of a resource.
func (l *loader) belonging(name string, r seek.Range) []stretch {
	all := l.replicas.companions(name, r)
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []stretch
	seen := map[*stretch]bool{}
	for _, e := range all {
		for _, s := range l.given[e.name] {
			if s.n > 0 && !seen[s] && e.overlaps(seek.Range{Offset: s.from, Length: s.n}) {
				seen[s] = true
				out = append(out, *s)
			}
		}
	}
	return out
}

// agrees fails where a place does not have the same bytes as were given out from
// others of what belongs to a range of a resource. Bodies that are still being
// read follow to that place. Own is the stretch that this is asked for.
func (l *loader) agrees(ctx context.Context, name string, r seek.Range, place string, own *stretch) error {
	l.mu.Lock()
	if place != "" {
		l.mixed = true
	}
	mixed := l.mixed
	l.mu.Unlock()
	if !mixed {
		return nil
	}
	all := l.replicas.companions(name, r)
	l.mu.Lock()
	var compare []*stretch
	for _, e := range all {
		for _, s := range l.given[e.name] {
			if s == own || s.at(place) || slices.Contains(compare, s) || !e.overlaps(seek.Range{Offset: s.from, Length: max(1, s.n)}) {
				continue
			}
			if s.open {
				s.move, s.to = true, place
			} else {
				compare = append(compare, s)
			}
		}
	}
	l.mu.Unlock()
	for _, s := range compare {
		body, err := l.openAt(ctx, place, s.name, seek.Request{Range: seek.Range{Offset: s.from, Length: s.n}, Purpose: seek.Probe, Note: "to compare with what came from another host"})
		if err != nil {
			return err
		}
		err = l.sameBytes(s, body)
		body.Close()
		if err != nil {
			return err
		}
		l.mu.Lock()
		s.also = append(s.also, place)
		l.mu.Unlock()
	}
	return nil
}

// sameBytes reads as much of a body as was given out, and fails where that is not
// the same.
func (l *loader) sameBytes(s *stretch, in io.Reader) error {
	l.mu.Lock()
	n, want := s.n, s.sum.Sum(nil)
	l.mu.Unlock()
	sum := sha256.New()
	if _, err := io.CopyN(sum, in, n); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return fmt.Errorf("%w: the redundant host has other bytes", seek.ErrChanged)
	}
	return nil
}

// openAt opens a range of a resource as it lies at a place.
func (l *loader) openAt(ctx context.Context, place, name string, r seek.Request) (*seek.Body, error) {
	if place == "" {
		return l.requestOne(ctx, name, r)
	}
	runs, err := l.replicas.find(ctx, place, name, r.Range)
	if err != nil {
		return nil, err
	}
	open := func(x extract) (*seek.Body, error) {
		q := r
		q.Range = x.Range
		return l.requestOne(ctx, x.name, q)
	}
	first := runs[0]
	body, err := open(first)
	if err != nil {
		return nil, err
	}
	body.Validator = "" // of another host: it says nothing of the first one's version
	if body.Offset -= first.base; !first.whole {
		body.Size = -1
	}
	readers, closers := []io.Reader{body.ReadCloser}, closers{body.ReadCloser}
	for i, x := range runs[1:] {
		readers[i] = &exactly{readers[i], runs[i].Length}
		next := &late{open: func() (*seek.Body, error) { return open(x) }}
		readers, closers = append(readers, next), append(closers, next)
	}
	if len(runs) > 1 {
		body.ReadCloser = readCloser{io.MultiReader(readers...), closers}
	}
	return body, nil
}

// exactly is a reader of which at least n bytes have to come.
type exactly struct {
	io.Reader
	n int64
}

func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if e.n -= int64(n); err == io.EOF && e.n > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// closers closes several things.
type closers []io.Closer

// Close closes them all.
func (c closers) Close() error {
	var all []error
	for _, x := range c {
		all = append(all, x.Close())
	}
	return errors.Join(all...)
}

// enter begins to remember a stretch.
func (l *loader) enter(s *stretch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given == nil {
		l.given = map[string][]*stretch{}
	}
	all := append(l.given[s.name], s)
	if len(all) > mostStretches {
		all = all[1:]
	}
	l.given[s.name] = all
}

// forget drops a stretch of which nothing is used.
func (l *loader) forget(s *stretch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given[s.name] = slices.DeleteFunc(l.given[s.name], func(t *stretch) bool { return t == s })
}

// note adds what was read to a stretch.
func (l *loader) note(s *stretch, b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(b) > 0 {
		s.n += int64(len(b))
		s.sum.Write(b)
		s.also = nil // of these nothing is known
	}
}

// end notes that no more of a stretch will be read.
func (l *loader) end(s *stretch) {
	l.mu.Lock()
	s.open = false
	nothing := s.n == 0
	l.mu.Unlock()
	if nothing {
		l.forget(s)
	}
}

// moved returns where a stretch is to go on, if it is to.
func (l *loader) moved(s *stretch) (to string, move bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.to, s.move
}

// settle notes that a stretch, all of it, is now what a place has.
func (l *loader) settle(s *stretch, place string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.also, s.place, s.move = append(s.also, s.place), place, false
}

func (l *loader) placeOf(s *stretch) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.place
}

// served notes which place has served something after others have failed: a host
// that gives no answer while another one does is down.
func (l *loader) served(name, place string, tried []string, err error) {
	if place == "" || !slices.Contains(tried, "") || !errors.Is(err, seek.ErrUnavailable) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down == nil {
		l.down = map[string]time.Time{}
	}
	l.down[hostOf(name)] = time.Now()
}
