package io.kvtier.bindings.cuda;

import java.util.Objects;

/**
 * A range of GPU memory. It can be passed to a device or to a copy, and not read: a load from a device address in the
 * CPU would end the process.
 *
 * <p><b>Threading:</b> immutable. <b>Lifetime:</b> says nothing of the memory's; whoever holds its owner does.
 *
 * @param address  where it starts, in the device's address space.
 * @param byteSize its length.
 */
public record DevicePointer(long address, long byteSize) {
    /**
     * A range whose memory somebody else owns, for example a tensor of another library.
     *
     * @param address  where it starts; not 0.
     * @param byteSize its length; more than 0.
     */
    public DevicePointer {
        if (address == 0 || byteSize <= 0) {
            throw new IllegalArgumentException("no device memory: address 0x" + Long.toHexString(address) + ", "
                + byteSize + " bytes");
        }
    }

    /**
     * The rest of the range from an offset on.
     *
     * @param offset bytes; less than the length.
     * @return the shorter range.
     * @throws IndexOutOfBoundsException when the offset is outside.
     */
    public DevicePointer plus(final long offset) {
        Objects.checkIndex(offset, byteSize);
        return new DevicePointer(address + offset, byteSize - offset);
    }

    /**
     * A part of the range.
     *
     * @param offset where it starts in this one, in bytes.
     * @param length its length; more than 0.
     * @return the part.
     * @throws IndexOutOfBoundsException when it reaches outside.
     */
    public DevicePointer slice(final long offset, final long length) {
        Objects.checkFromIndexSize(offset, length, byteSize);
        return new DevicePointer(address + offset, length);
    }

    @Override
    public String toString() {
        return "device memory 0x" + Long.toHexString(address) + "+" + byteSize;
    }
}
