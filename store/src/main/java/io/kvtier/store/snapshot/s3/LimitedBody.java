package io.kvtier.store.snapshot.s3;

import java.net.ProtocolException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** Collects an answer, and refuses one that has more bytes than it may have before it takes memory for them. */
final class LimitedBody implements HttpResponse.BodySubscriber<byte[]> {
    private final HttpResponse.BodySubscriber<byte[]> all = HttpResponse.BodySubscribers.ofByteArray();
    private final int most;
    private Flow.Subscription subscription;
    private long count;

    LimitedBody(final int most) {
        this.most = most;
    }

    @Override
    public CompletionStage<byte[]> getBody() {
        return all.getBody();
    }

    @Override
    public void onSubscribe(final Flow.Subscription from) {
        subscription = from;
        all.onSubscribe(from);
    }

    @Override
    public void onNext(final List<ByteBuffer> some) {
        for (final ByteBuffer one : some) {
            count += one.remaining();
        }
        if (count > most) {
            subscription.cancel();
            all.onError(new ProtocolException("the answer has more than " + most + " bytes, and must not"));
        } else {
            all.onNext(some);
        }
    }

    @Override
    public void onError(final Throwable why) {
        all.onError(why);
    }

    @Override
    public void onComplete() {
        all.onComplete();
    }
}
