package io.kvtier.transport;

/** Whether bytes on their way between a device's memory and a segment pass through memory of the host. */
public enum HostDetour {
    /** They do not; or there is no device, and nothing to go past. */
    NONE,
    /** Where the file system of a segment cannot do without; the transport does not know of which. */
    POSSIBLE,
    /** All of them: there is nothing here that could do without. cuFile calls it compatibility mode. */
    ALWAYS
}
