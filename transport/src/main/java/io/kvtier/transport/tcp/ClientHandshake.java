package io.kvtier.transport.tcp;

import io.kvtier.transport.SharedSecret;

/** The client's side of a handshake: what it says, and what it takes for an answer. <b>Threading:</b> one thread. */
final class ClientHandshake {
    private final SharedSecret secret;
    private final byte[] nonce = Handshake.nonce();
    private byte[] serverProof = {};

    /** For a secret, or for none. */
    ClientHandshake(final SharedSecret secret) {
        this.secret = secret;
    }

    byte[] hello() {
        return new Handshake.Hello(Wire.VERSION, Wire.VERSION, nonce).body();
    }

    /** The body of PROOF, in answer to CHALLENGE. */
    byte[] proof(final FrameReader in) throws PeerException {
        expect(in, Wire.CHALLENGE);
        final Handshake.Challenge challenge = Handshake.Challenge.of(in.body());
        if (challenge.version() != Wire.VERSION) {
            throw new PeerException(Status.VERSION, "the server chose version " + challenge.version()
                + "; this client speaks version " + Wire.VERSION + " only");
        }
        if (challenge.secret() != (secret != null)) {
            throw new PeerException(Status.AUTHENTICATION, secret == null
                ? "the server asks for a shared secret and this client has none; set the same one on both sides"
                : "the server asks for no shared secret, but this client has one; set the same one on both sides");
        }
        if (secret == null) {
            return new byte[0];
        }
        serverProof = secret.proof(Handshake.SERVER, Wire.VERSION, nonce, challenge.nonce());
        return secret.proof(Handshake.CLIENT, Wire.VERSION, nonce, challenge.nonce());
    }

    /** What the server allows, once it has proved that it knows the secret as well. */
    Handshake.Welcome welcome(final FrameReader in) throws PeerException {
        expect(in, Wire.WELCOME);
        final Handshake.Welcome welcome = Handshake.Welcome.of(in.body(), secret != null);
        if (secret != null && !Handshake.isProof(serverProof, welcome.proof())) {
            throw new PeerException(Status.AUTHENTICATION, "the server did not prove that it knows the shared secret");
        }
        return welcome;
    }

    private static void expect(final FrameReader in, final int type) throws PeerException {
        if (in.type() != type) {
            throw new PeerException(Status.PROTOCOL, "the server sent a frame of type " + in.type()
                + " in the handshake, where one of type " + type + " was due");
        }
    }
}
