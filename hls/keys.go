package hls

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// systems are the names of the DRM systems behind key formats.
var systems = map[string]string{
	"com.apple.streamingkeydelivery":                "FairPlay",
	"com.microsoft.playready":                       "PlayReady",
	"com.widevine":                                  "Widevine",
	"urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed": "Widevine",
	"urn:uuid:9a04f079-9840-4286-ab92-e65be0885f95": "PlayReady",
	"urn:uuid:1077efec-c0b2-4d02-ace3-3c1e52e2fb4b": "ClearKey",
}

// usable returns the key by which something is decrypted: nil where it is not
// encrypted. Encryption that is not the whole-segment AES-128 of RFC 8216 is an
// error that names it.
func usable(keys []*key) (*key, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var names []string
	for _, k := range keys {
		if k.method == "AES-128" && k.format == "" {
			if k.badIV {
				return nil, damaged("EXT-X-KEY", -1, "its IV is no hexadecimal number of 128 bits: "+strconv.Quote(shorten(k.attrs.get("IV"))))
			}
			return k, nil
		}
		name := k.method
		if k.format != "" {
			system := systems[strings.ToLower(k.format)]
			if system == "" {
				system = "the key format " + shorten(k.format)
			}
			name += " for " + system
		}
		names = append(names, name)
	}
	return nil, unsupported("EXT-X-KEY", "the segments are encrypted by "+strings.Join(names, ", "),
		"only AES-128 of whole segments is decrypted; -o FILE.m3u8 writes a playlist that leaves it to the player")
}

// ivOf returns the initialization vector for a segment: the key's, or else the
// segment's media sequence number (RFC 8216 section 5.2).
func (k *key) ivOf(sequence int64) [16]byte {
	if k.iv != nil {
		return *k.iv
	}
	var iv [16]byte
	binary.BigEndian.PutUint64(iv[8:], uint64(sequence))
	return iv
}

// keyRange is what is asked of a key: all of it.
var keyRange = seek.Range{Length: seek.ToEnd}

// readKey fetches a key. No error holds what came.
func readKey(ctx context.Context, open seek.Opener, uri string) ([]byte, error) {
	source, err := open.OpenSource(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("fetching the key: %w", err)
	}
	body, err := source.Open(ctx, seek.Request{Range: keyRange, Purpose: seek.Key, Note: "key"})
	if err != nil {
		return nil, fmt.Errorf("fetching the key: %w", err)
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, aes.BlockSize+1))
	if err != nil {
		return nil, fmt.Errorf("fetching the key: %w", err)
	}
	if len(b) != aes.BlockSize {
		return nil, &formats.Error{Container: Name, Element: "EXT-X-KEY", Offset: -1, Err: formats.ErrDamaged,
			Problem: "what its URI gives is no key of 16 bytes", Hint: "it may need credentials: see --header"}
	}
	return b, nil
}

// decrypt returns the plain bytes of an encrypted segment from off on; errors
// call it what segment says. Open gives
// the encrypted ones from an offset on; with inner, not to the segment's end: of
// the padding nothing is known then.
func decrypt(segment string, block cipher.Block, iv [16]byte, off int64, inner bool, open func(off int64) (io.ReadCloser, error)) (io.ReadCloser, error) {
	const n = aes.BlockSize
	at := off / n * n // the block that off lies in, and the one before it, which chains it
	from := max(0, at-n)
	in, err := open(from)
	if err != nil {
		return nil, err
	}
	if at > 0 {
		if _, err := io.ReadFull(in, iv[:]); err != nil {
			in.Close()
			return nil, fmt.Errorf("decrypting: %w", err)
		}
	}
	d := &decrypter{segment: segment, in: in, mode: cipher.NewCBCDecrypter(block, iv[:]), inner: inner, size: at}
	if _, err := io.CopyN(io.Discard, d, off-at); err != nil && err != io.EOF {
		in.Close()
		return nil, err
	}
	return d, nil
}

// decrypter decrypts cipher block chaining and takes the padding from the end
// (RFC 8216 section 4.3.2.4: PKCS7).
type decrypter struct {
	segment string
	in      io.ReadCloser
	mode    cipher.BlockMode
	inner   bool // there is no padding at the end
	buf     [256 * aes.BlockSize]byte
	have    int    // encrypted bytes in buf that are not decrypted yet: the last block is held back
	size    int64  // how many encrypted bytes of the segment have been seen
	ready   []byte // decrypted
	plain   [256 * aes.BlockSize]byte
	err     error
}

func (d *decrypter) Read(p []byte) (int, error) {
	for len(d.ready) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.fill()
	}
	n := copy(p, d.ready)
	d.ready = d.ready[n:]
	return n, nil
}

// fill decrypts what comes next, all but the last block: only the end tells
// whether that holds padding.
func (d *decrypter) fill() {
	const n = aes.BlockSize
	m, err := io.ReadAtLeast(d.in, d.buf[d.have:], n)
	d.have += m
	d.size += int64(m)
	last := err == io.EOF || err == io.ErrUnexpectedEOF
	whole := d.have / n * n
	switch {
	case err != nil && !last:
		d.err = err
		return
	case last && d.inner && whole == 0:
		d.err = io.EOF
		return
	case last && (d.have == 0 || whole != d.have):
		d.err = cutOff(d.segment, fmt.Sprintf("its %d encrypted bytes are no whole number of blocks of %d", d.size, n))
		return
	case !last:
		whole -= n
	}
	d.mode.CryptBlocks(d.plain[:whole], d.buf[:whole])
	d.ready = d.plain[:whole]
	d.have = copy(d.buf[:], d.buf[whole:d.have])
	if last && d.inner {
		d.err = io.EOF
	} else if last {
		d.err = io.EOF
		pad := int(d.ready[whole-1])
		if pad < 1 || pad > n {
			d.ready = nil
			d.err = &formats.Error{Container: Name, Element: "EXT-X-KEY", Offset: -1, Err: formats.ErrDamaged,
				Problem: fmt.Sprintf("the %d encrypted bytes of %s do not decrypt to what they should", d.size, d.segment),
				Hint:    "the key or the initialization vector is not the right one, or the segment is cut off: choose another interval, or with --variant another variant"}
			return
		}
		d.ready = d.ready[:whole-pad]
	}
}

// Close closes what is beneath.
func (d *decrypter) Close() error { return d.in.Close() }

// bytesFrom opens bytes in memory from an offset on.
func bytesFrom(b []byte) func(off int64) (io.ReadCloser, error) {
	return func(off int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b[min(off, int64(len(b))):])), nil
	}
}

// readAll reads what is about n bytes.
func readAll(r io.Reader, n int) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(n + bytes.MinRead)
	_, err := out.ReadFrom(r)
	return out.Bytes(), err
}

func newCBC(block cipher.Block, iv [16]byte) cipher.BlockMode {
	return cipher.NewCBCDecrypter(block, iv[:])
}
