package webm

import (
	"context"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

const (
	// maxAttachments is how many attached files are listed.
	maxAttachments = 64
	// attachedHead is how much is read of an attached file to tell what it is:
	// all but its data, as a rule, and the beginning of the data.
	attachedHead = 4 << 10
	// attachedTail is what may stand behind its data.
	attachedTail = 512
)

// attachmentsElement reads the header of Attachments. Its id is 0 where there
// are none.
func (m *media) attachmentsElement(ctx context.Context) (element, error) {
	if m.attachmentsAt == 0 {
		return element{}, nil
	}
	e, err := m.elementAt(ctx, m.attachmentsAt)
	if err != nil || e.id != idAttachments || e.size < 0 || e.end() > m.limit() {
		return element{}, err
	}
	return e, nil
}

// elementAt reads the header of an element.
func (m *media) elementAt(ctx context.Context, at int64) (element, error) {
	data, err := m.w.ReadRange(ctx, seek.Range{Offset: at, Length: min(maxHeader, m.limit()-at)}, seek.Index, "element")
	if err != nil {
		return element{}, err
	}
	e, err := m.doc.parse(data, at)
	if err != nil {
		return element{}, nil // there is none
	}
	return e, nil
}

// listAttachments tells what files are attached, without reading them: from the
// head of each and, where its data come first, what stands behind them.
func (m *media) listAttachments(ctx context.Context, i *formats.Info) error {
	all, err := m.attachmentsElement(ctx)
	if err != nil || all.id == 0 {
		return err
	}
	if all.size <= oneRead { // one request costs less than one for each
		m.w.Prefetch(seek.Request{Range: seek.Range{Offset: all.body(), Length: all.size}, Purpose: seek.Index, Note: "Attachments"})
	}
	for at := all.body(); at < all.end(); {
		if len(i.Attachments) == maxAttachments {
			i.Warnings = append(i.Warnings, warning("more than %d files are attached; the others are not listed", maxAttachments))
			break
		}
		file, err := m.elementAt(ctx, at)
		if err != nil {
			return err
		}
		if file.id == 0 || file.size < 0 || file.end() > all.end() {
			i.Warnings = append(i.Warnings, warning("the Attachments are damaged at byte %d", at))
			break
		}
		if file.id == idAttachedFile {
			a, err := m.attachment(ctx, file)
			if err != nil {
				return err
			}
			i.Attachments = append(i.Attachments, a)
		}
		at = file.end()
	}
	return nil
}

// attachment reads what an AttachedFile says, but its data.
func (m *media) attachment(ctx context.Context, file element) (a formats.Attachment, err error) {
	var data []byte
	for at := file.body(); at < file.end(); {
		if int64(len(data)) < min(maxHeader, file.end()-at) {
			n := int64(attachedHead)
			if a.Size > 0 {
				n = attachedTail
			}
			if data, err = m.w.ReadRange(ctx, seek.Range{Offset: at, Length: min(n, file.end()-at)}, seek.Index, "attachment"); err != nil {
				return a, err
			}
		}
		x, err := m.doc.parse(data, at)
		if err != nil || x.size < 0 || x.end() > file.end() {
			return a, nil // what was read so far is right
		}
		if body := data[x.head:]; x.id == idFileData {
			a.Size = x.size
		} else if x.size <= int64(len(body)) {
			switch x.id {
			case idFileName:
				a.Name = stringOf(body[:x.size])
			case idFileMediaType:
				a.MediaType = stringOf(body[:x.size])
			case idFileDescription:
				a.Description = stringOf(body[:x.size])
			}
		}
		at = x.end()
		data = data[min(x.head+x.size, int64(len(data))):]
	}
	return a, nil
}

// attachments finds those that the clip is to carry, as they are.
func (p *planner) attachments(ctx context.Context) (element, error) {
	if !p.sel.Attachments {
		return element{}, nil
	}
	return p.m.attachmentsElement(ctx)
}

// attachmentParts are the parts of a clip that carry them, of all its Segments in
// one element, and how many bytes those have.
func (p *planner) attachmentParts() (parts []seek.Part, size int64) {
	info := p.m.w.Info()
	for _, q := range p.all() {
		if q.attached.id != 0 {
			parts = append(parts, seek.Bytes(&info, seek.Range{Offset: q.attached.body(), Length: q.attached.size}, "attachments"))
			size += q.attached.size
		}
	}
	if len(parts) == 0 {
		return nil, 0
	}
	head := appendSize(appendID(nil, idAttachments), size, sizeLength(size))
	return append([]seek.Part{seek.Literal(head, "attachments")}, parts...), size + int64(len(head))
}
