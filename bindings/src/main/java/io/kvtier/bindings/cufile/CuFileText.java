package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cufile.gen.CuFileTypes;

/** Parameters of the driver that are texts: where it logs, and how much. They are set with {@link CuFileConfig}. */
public enum CuFileText {
    /** ERROR, WARN, INFO, DEBUG or TRACE. */
    LOG_LEVEL(CuFileTypes.CUFILE_PARAM_LOGGING_LEVEL()),
    /** The log's file. */
    LOG_FILE(CuFileTypes.CUFILE_PARAM_ENV_LOGFILE_PATH()),
    /** The folder of {@code cufile.log}; the process's working directory when nothing says otherwise. */
    LOG_FOLDER(CuFileTypes.CUFILE_PARAM_LOG_DIR());

    private final int number;

    CuFileText(final int number) {
        this.number = number;
    }

    int number() {
        return number;
    }
}
