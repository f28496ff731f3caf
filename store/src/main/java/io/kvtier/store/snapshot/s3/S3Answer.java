package io.kvtier.store.snapshot.s3;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.http.HttpHeaders;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * An answer.
 *
 * @param status  of HTTP.
 * @param headers as they came.
 * @param body    all of it.
 */
record S3Answer(int status, HttpHeaders headers, byte[] body) {
    private static final int GOOD = 300;

    /** What an XML document says: texts of the children of its root, and of the children of each of these, by name. */
    record Document(String root, Map<String, String> texts, List<Map<String, String>> items) {
        /** A text of the root's, or nothing. */
        String text(final String name) {
            return texts.getOrDefault(name, "");
        }
    }

    boolean isGood() {
        return status < GOOD;
    }

    /** A header, or nothing. */
    String header(final String name) {
        return headers.firstValue(name).orElse("");
    }

    /**
     * The body as XML.
     *
     * @param item which children of the root have children that are wanted.
     * @throws IOException when it is none.
     */
    Document xml(final String item) throws IOException {
        final XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        // Who answers must not have this process read other documents, or grow by entities.
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
        try {
            return read(factory.createXMLStreamReader(new ByteArrayInputStream(body)), item);
        } catch (final XMLStreamException e) {
            throw new IOException("the answer is not XML as S3 has it: " + e.getMessage(), e);
        }
    }

    private static Document read(final XMLStreamReader reader, final String item) throws XMLStreamException {
        final Deque<String> path = new ArrayDeque<>();
        final StringBuilder text = new StringBuilder();
        final Document document = new Document(root(reader), new HashMap<>(), new ArrayList<>());
        while (reader.hasNext()) {
            final int event = reader.next();
            if (event == XMLStreamConstants.START_ELEMENT) {
                path.push(reader.getLocalName());
                text.setLength(0);
                if (path.size() == 1 && path.peek().equals(item)) {
                    document.items().add(new HashMap<>());
                }
            } else if (event == XMLStreamConstants.CHARACTERS || event == XMLStreamConstants.CDATA) {
                text.append(reader.getText());
            } else if (event == XMLStreamConstants.END_ELEMENT && !path.isEmpty()) {
                final String name = path.pop();
                if (path.isEmpty()) {
                    document.texts().put(name, text.toString());
                } else if (path.size() == 1 && path.peek().equals(item)) {
                    document.items().getLast().put(name, text.toString());
                }
            }
        }
        return document;
    }

    private static String root(final XMLStreamReader reader) throws XMLStreamException {
        reader.nextTag();
        return reader.getLocalName();
    }
}
