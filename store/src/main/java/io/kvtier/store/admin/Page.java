package io.kvtier.store.admin;

import java.io.IOException;

/** What is answered to one method of one path. */
@FunctionalInterface
interface Page {
    /**
     * Answers.
     *
     * @param request what was asked.
     * @param reply   takes the answer; finished by the caller.
     */
    void answer(AdminRequest request, AdminReply reply) throws IOException;
}
