// Command pcm decodes the part of an Ogg Vorbis recording that a media fragment
// URI names, and writes it as 32-bit float samples, little-endian, channels in
// turn. The clip is an io.Reader, which is all that a decoder needs.
//
//	go run ./examples/pcm 'https://host/talk.ogg#t=60,100' talk.f32
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/jfreymuth/oggvorbis"

	"github.com/mediafrag/mediafrag/client"
)

// decode writes the samples of the fragment that uri names to w.
func decode(ctx context.Context, uri string, w io.Writer) (samples, rate int, err error) {
	var c client.Client
	clip, err := c.Clip(ctx, uri)
	if err != nil {
		return 0, 0, err
	}
	defer clip.Close()
	in, err := oggvorbis.NewReader(bufio.NewReader(clip))
	if err != nil {
		return 0, 0, err
	}
	buf := make([]float32, 4096*in.Channels())
	for {
		n, err := in.Read(buf)
		if e := binary.Write(w, binary.LittleEndian, buf[:n]); e != nil {
			return samples, in.SampleRate(), e
		}
		samples += n / in.Channels()
		if err == io.EOF {
			return samples, in.SampleRate(), nil
		} else if err != nil {
			return samples, in.SampleRate(), err
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: pcm 'URI#t=A,B' FILE")
	}
	out, err := os.Create(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	w := bufio.NewWriter(out)
	samples, rate, err := decode(context.Background(), os.Args[1], w)
	if err = errors.Join(err, w.Flush(), out.Close()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d samples at %d Hz\n", os.Args[2], samples, rate)
}
