package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.SoftPin;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.AdminCommand.TenantInfo;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What tenants are charged, what they may have, and what they lose for it. */
@ExtendWith(LeakCheck.class)
class QuotaTest {
    private final TenantRig rig = new TenantRig(true);

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void shouldRefuseATenantWithoutQuotaEvenForNoBytes() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.refused(ErrorCode.TENANT_NOT_REGISTERED, rig.put("acme/a", 0));
        rig.quota("acme", 1);
        rig.store("acme/a", 0);
        assertEquals(new TenantInfo("acme", 1, 1, 0, 1, 0, 0), rig.tenant("acme"));
    }

    @Test
    void shouldTakeTheEmptyNameForTheDefaultTenant() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.quota("", 500);
        rig.store("a", 100);
        assertEquals(List.of(new TenantInfo("default", 500, 500, 100, 1, 0, 0)), rig.apply(new AdminCommand.Quotas()));
    }

    @Test
    void shouldRefuseAQuotaOfNothingAndNamesThatCannotBe() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.quota("acme", 700);
        rig.refused(ErrorCode.INVALID_PARAMS, new AdminCommand.SetQuota("acme", 0));
        rig.refused(ErrorCode.INVALID_PARAMS, new AdminCommand.SetQuota("acme", -5));
        rig.refused(ErrorCode.INVALID_KEY, new AdminCommand.SetQuota("_acme", 5));
        rig.refused(ErrorCode.INVALID_KEY, new AdminCommand.SetQuota("ac\u0000me", 5));
        assertEquals(700, rig.tenant("acme").requested());
    }

    @Test
    void shouldKeepQuotasOfTheLargestNumberApart() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.quota("a", Long.MAX_VALUE);
        rig.quota("b", Long.MAX_VALUE);
        assertEquals(512, rig.tenant("a").effective());
        assertEquals(512, rig.tenant("b").effective());
        rig.refused(ErrorCode.TENANT_QUOTA_EXCEEDED,
            rig.put(TenantRig.ANN, "a/x", 1000, PutOptions.DEFAULT.withReplicas(64), false));
        assertEquals(Long.MAX_VALUE, Admission.bytes(Long.MAX_VALUE, 64), "charges do not wrap");
        assertEquals(Long.MAX_VALUE, Admission.bytes(Long.MAX_VALUE / 2 + 1, 2));
    }

    @Test
    void shouldScaleQuotasDownInProportionWhenTheyExceedTheMemory() {
        rig.memory(TenantRig.ANN, "m", 192);
        rig.quota("a", 256);
        rig.quota("b", 128);
        assertEquals(128, rig.tenant("a").effective());
        assertEquals(64, rig.tenant("b").effective());
        rig.memory(TenantRig.ANN, "n", 192);
        assertEquals(256, rig.tenant("a").effective(), "now there is enough for all");
        assertEquals(128, rig.tenant("b").effective());
        rig.unmount("n");
        assertEquals(128, rig.tenant("a").effective());
        assertEquals(Ack.OK, rig.apply(new AdminCommand.DeleteQuota("b")));
        assertEquals(192, rig.tenant("a").effective());
    }

    @Test
    void shouldGiveWhatRoundingLeavesToTheLargestRemaindersThenByName() {
        rig.memory(TenantRig.ANN, "m", 64);
        rig.quota("c", 100);
        rig.quota("a", 100);
        rig.quota("b", 100);
        assertEquals(22, rig.tenant("a").effective(), "64 is 21 for each, and one over");
        assertEquals(21, rig.tenant("b").effective());
        assertEquals(21, rig.tenant("c").effective());
        rig.quota("d", 200);
        // 64 * 100 / 500 = 12.8 and 64 * 200 / 500 = 25.6: three are over, and the remainders .8 are the largest.
        assertEquals(13, rig.tenant("a").effective());
        assertEquals(13, rig.tenant("b").effective());
        assertEquals(13, rig.tenant("c").effective());
        assertEquals(25, rig.tenant("d").effective());
    }

    @Test
    void shouldSayWhoNeedsHowMuchOfWhichQuota() {
        rig.memory(TenantRig.ANN, "m", 4096);
        rig.quota("acme", 1000);
        rig.started("acme/a", 900);
        final String message = rig.refused(ErrorCode.TENANT_QUOTA_EXCEEDED, rig.put("acme/b", 101));
        assertTrue(message.contains("'acme'") && message.contains("101") && message.contains("900")
            && message.contains("1000"), message);
        assertEquals(new TenantInfo("acme", 1000, 1000, 900, 1, 1, 0), rig.tenant("acme"));
        rig.started("acme/b", 100);
        assertEquals(1000, rig.charged("acme"));
    }

    @Test
    void shouldChargeEachReplicaFromTheStartAndRefundWhatIsRevoked() {
        rig.memory(TenantRig.ANN, "m", 4096);
        rig.memory(TenantRig.BEN, "n", 4096);
        rig.mount(TenantRig.BEN, "dev", Medium.NOF, 4096);
        rig.quota("acme", 1000);
        final var options = PutOptions.DEFAULT.withReplicas(2).withNofReplicas(1);
        final PutStartReply.Started put = rig.started(rig.put(TenantRig.ANN, "acme/a", 100, options, false));
        assertEquals(200, rig.charged("acme"), "block devices are not charged for");
        assertEquals(Ack.OK, rig.apply(TenantRig.revoke("acme/a", put, Scope.MEMORY)));
        assertEquals(new TenantInfo("acme", 1000, 1000, 0, 1, 0, 0), rig.tenant("acme"));
        assertEquals(Ack.OK, rig.apply(TenantRig.end("acme/a", put, Scope.NOF)));
        assertTrue(rig.has("acme/a"));
        rig.store("acme/b", 50);
        assertEquals(50, rig.charged("acme"));
        rig.remove("acme/b");
        rig.remove("acme/a");
        assertEquals(new TenantInfo("acme", 1000, 1000, 0, 0, 0, 0), rig.tenant("acme"));
    }

    @Test
    void shouldChargeTheReplacedValueUntilTheNewOneIsComplete() {
        rig.memory(TenantRig.ANN, "m", 4096);
        rig.quota("acme", 300);
        rig.store("acme/a", 100);
        final PutStartReply.Started larger = rig.started(rig.put(TenantRig.ANN, "acme/a", 200, PutOptions.DEFAULT,
            true));
        assertEquals(300, rig.charged("acme"));
        rig.ended("acme/a", larger);
        assertEquals(200, rig.charged("acme"));
        rig.refused(ErrorCode.TENANT_QUOTA_EXCEEDED, rig.put(TenantRig.ANN, "acme/a", 101, PutOptions.DEFAULT, true));
        assertEquals(200, rig.query("acme/a").size(), "a refused replacement leaves the value");
        final PutStartReply.Started inPlace = rig.started(rig.put(TenantRig.ANN, "acme/a", 200, PutOptions.DEFAULT,
            true));
        assertEquals(200, rig.charged("acme"), "what is overwritten where it lies costs nothing more");
        assertEquals(Ack.OK, rig.apply(TenantRig.revoke("acme/a", inPlace, Scope.ALL)));
        assertEquals(0, rig.charged("acme"));
    }

    @Test
    void shouldCountWhatAnUnfinishedWriteGivesUpWhenAnotherTakesItsPlace() {
        rig.memory(TenantRig.ANN, "m", 4096);
        rig.quota("acme", 300);
        rig.started("acme/a", 250);
        rig.refused(ErrorCode.TENANT_QUOTA_EXCEEDED, rig.put(TenantRig.ANN, "acme/a", 301, PutOptions.DEFAULT, true));
        assertEquals(250, rig.charged("acme"), "a refused put discards nothing");
        rig.started(rig.put(TenantRig.ANN, "acme/a", 300, PutOptions.DEFAULT, true));
        assertEquals(300, rig.charged("acme"));
        assertEquals(1, rig.tenant("acme").objects());
    }

    @Test
    void shouldRefundWhatIsNotEndedInTime() {
        rig.memory(TenantRig.ANN, "m", 4096);
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 4096);
        rig.quota("acme", 300);
        rig.started("acme/a", 100);
        final PutStartReply.Started partly = rig.started(rig.put(TenantRig.ANN, "acme/b", 50,
            PutOptions.DEFAULT.withNofReplicas(1), false));
        assertEquals(Ack.OK, rig.apply(TenantRig.end("acme/b", partly, Scope.NOF)));
        assertEquals(150, rig.charged("acme"));
        rig.advance(TenantRig.RELEASE_MS);
        assertEquals(new TenantInfo("acme", 300, 300, 0, 1, 0, 0), rig.tenant("acme"));
        assertTrue(rig.has("acme/b"), "what was ended stays");
    }

    @Test
    void shouldRefundWhatIsLostWithItsSegment() {
        rig.memory(TenantRig.ANN, "m", 4096);
        rig.memory(TenantRig.BEN, "n", 4096);
        rig.quota("acme", 1000);
        rig.storeIn("acme/a", 100, "m", "n");
        rig.started(rig.put(TenantRig.ANN, "acme/b", 70, PutOptions.DEFAULT.withPreferredSegments("n"), false));
        assertEquals(270, rig.charged("acme"));
        rig.unmount("n");
        rig.settle();
        assertEquals(new TenantInfo("acme", 1000, 1000, 100, 1, 0, 0), rig.tenant("acme"));
    }

    @Test
    void shouldEvictTheTenantsOwnOldestValuesForWhatItLacks() {
        rig.memory(TenantRig.ANN, "m", 1 << 16);
        rig.quota("acme", 1000);
        rig.quota("other", 1000);
        rig.store("other/old", 900);
        for (int i = 0; i < 10; i++) {
            rig.store("acme/" + i, 100);
        }
        rig.started("acme/new", 250);
        assertEquals("falsefalsefalsetrue", "" + rig.has("acme/0") + rig.has("acme/1") + rig.has("acme/2")
            + rig.has("acme/3"));
        assertTrue(rig.has("other/old"));
        assertEquals(950, rig.charged("acme"));
        assertEquals(300, rig.tenant("acme").evictedBytes());
        assertEquals(900, rig.charged("other"));
        assertEquals(0, rig.tenant("other").evictedBytes());
    }

    @Test
    void shouldEvictNothingWhenThatWouldNotBeEnough() {
        rig.memory(TenantRig.ANN, "m", 1 << 16);
        rig.quota("acme", 1000);
        rig.store("acme/a", 300);
        rig.store("acme/leased", 300);
        rig.read("acme/leased");
        rig.store("acme/pinned", 300, PutOptions.DEFAULT.withHardPin(true));
        rig.refused(ErrorCode.TENANT_QUOTA_EXCEEDED, rig.put("acme/new", 401));
        rig.refused(ErrorCode.TENANT_QUOTA_EXCEEDED, rig.put("acme/new", 1001));
        assertTrue(rig.has("acme/a"));
        rig.started("acme/new", 400);
        assertFalse(rig.has("acme/a"));
        assertTrue(rig.has("acme/leased") && rig.has("acme/pinned"));
        assertEquals(2, rig.tenant("acme").rejections());
        rig.advance(TenantRig.LEASE_MS);
        rig.started("acme/newer", 300);
        assertFalse(rig.has("acme/leased"));
    }

    @Test
    void shouldEvictSoftPinnedValuesLast() {
        rig.memory(TenantRig.ANN, "m", 1 << 16);
        rig.quota("acme", 1000);
        rig.store("acme/pinned", 400, PutOptions.DEFAULT.withSoftPin(SoftPin.ENABLE));
        rig.store("acme/plain", 400);
        rig.started("acme/x", 300);
        assertTrue(rig.has("acme/pinned"));
        assertFalse(rig.has("acme/plain"));
        rig.started("acme/y", 500);
        assertFalse(rig.has("acme/pinned"));
    }

    @Test
    void shouldFindWhatATenantCanLoseBehindManyLeasesOfOthers() {
        final int others = 2 * EvictionOrder.PART;
        rig.memory(TenantRig.ANN, "m", (others + 16) * TenantRig.UNIT);
        rig.quota("acme", 100);
        rig.quota("big", others);
        for (int i = 0; i < others; i++) {
            rig.store("big/" + i, 1);
            rig.read("big/" + i);
        }
        rig.store("acme/old", 100);
        rig.read("acme/old");
        rig.pass(TenantRig.LEASE_MS);
        rig.started("acme/new", 100);
        assertFalse(rig.has("acme/old"));
        assertEquals(100, rig.tenant("acme").evictedBytes());
        assertEquals(others, rig.charged("big"));
    }

    @Test
    void shouldNotEvictTheValueThatIsReplaced() {
        rig.memory(TenantRig.ANN, "m", 1 << 16);
        rig.quota("acme", 300);
        rig.store("acme/replaced", 100);
        rig.store("acme/other", 100);
        final PutStartReply.Started put = rig.started(rig.put(TenantRig.ANN, "acme/replaced", 150, PutOptions.DEFAULT,
            true));
        assertTrue(rig.has("acme/replaced"));
        assertFalse(rig.has("acme/other"), "though it is younger");
        assertEquals(250, rig.charged("acme"));
        rig.ended("acme/replaced", put);
        assertEquals(150, rig.query("acme/replaced").size());
    }

    @Test
    void shouldEvictForAllFromWhoeverHasTheOldest() {
        rig.memory(TenantRig.ANN, "m", 640);
        rig.quota("a", 320);
        rig.quota("b", 320);
        rig.store("a/1", 64);
        rig.store("b/1", 64);
        rig.store("b/2", 64);
        rig.store("a/2", 64);
        rig.read("a/1");
        rig.apply(new AdminCommand.Evict(0.5, 0.5));
        assertEquals("truetrue", "" + rig.has("a/1") + rig.has("a/2"));
        assertEquals("falsefalse", "" + rig.has("b/1") + rig.has("b/2"));
        assertEquals(128, rig.charged("a"));
        assertEquals(0, rig.charged("b"));
        assertEquals(0, rig.tenant("b").evictedBytes(), "nobody's quota wanted that");
    }

    @Test
    void shouldSayThatRoomComesWhileTheTenantsValuesAreCopiedToADisk() {
        rig.memory(TenantRig.ANN, "m", 1 << 16);
        rig.apply(new DiskCommand.MountDisk(TenantRig.ANN, "ann:1", 1 << 20));
        rig.quota("acme", 200);
        rig.store("acme/a", 100);
        rig.store("acme/b", 100);
        assertEquals(new PutStartReply.NoSpace(true), rig.apply(rig.put("acme/c", 80)));
        assertEquals(new PutStartReply.NoSpace(true), rig.apply(rig.put("acme/c", 80)), "one eviction is enough");
        assertEquals(200, rig.charged("acme"));
        final List<OffloadTask> tasks = rig.apply(new DiskCommand.FetchOffloads(TenantRig.ANN, 1000));
        assertEquals(List.of("a"), tasks.stream().map(task -> task.key().key()).toList());
        rig.apply(new DiskCommand.OffloadDone(TenantRig.ANN, tasks.getFirst(), OffloadResult.STORED, 1));
        assertEquals(100, rig.charged("acme"));
        rig.started("acme/c", 80);
        assertEquals(new TenantInfo("acme", 200, 200, 180, 3, 0, 100), rig.tenant("acme"));
    }

    @Test
    void shouldExpectNoMoreRoomFromWhatIsRemovedWhileItIsCopiedToADisk() {
        rig.memory(TenantRig.ANN, "m", 1 << 16);
        rig.apply(new DiskCommand.MountDisk(TenantRig.ANN, "ann:1", 1 << 20));
        rig.quota("acme", 200);
        rig.store("acme/a", 100);
        rig.store("acme/b", 100);
        assertEquals(new PutStartReply.NoSpace(true), rig.apply(rig.put("acme/c", 80)), "the oldest is to go");
        rig.remove("acme/a");
        rig.read("acme/b");
        assertEquals(100, rig.charged("acme"));
        rig.refused(ErrorCode.TENANT_QUOTA_EXCEEDED, rig.put("acme/c", 101));
        rig.started("acme/c", 100);
    }

    @Test
    void shouldChargeForWhatComesBackFromADiskAndDeclineWhatExceedsTheQuota() {
        rig.memory(TenantRig.ANN, "m", 1 << 16);
        rig.apply(new DiskCommand.MountDisk(TenantRig.ANN, "ann:1", 1 << 20));
        rig.quota("acme", 200);
        rig.apply(new DiskCommand.AdoptDisk(TenantRig.ANN, List.of(
            new DiskCommand.StoredObject(TenantRig.key("acme/a"), 7, 150, 1),
            new DiskCommand.StoredObject(TenantRig.key("ghost/a"), 8, 150, 1))));
        assertEquals(new TenantInfo("ghost", 0, 0, 0, 1, 0, 0), rig.tenant("ghost"), "listed, and closed");
        assertFalse(promote("ghost/a", 8).accepted());
        rig.started("acme/w", 60);
        assertFalse(promote("acme/a", 7).accepted());
        assertEquals(60, rig.charged("acme"));
        rig.quota("acme", 210);
        final PromotionReply promotion = promote("acme/a", 7);
        assertEquals(210, rig.charged("acme"));
        rig.apply(new DiskCommand.PromotionEnd(TenantRig.ANN, TenantRig.key("acme/a"), promotion.replicaId(), false));
        assertEquals(60, rig.charged("acme"));
    }

    /** What lies on disks alone makes a tenant known, but gives it no part of the memory. */
    @Test
    void shouldForgetATenantWithoutQuotaWithTheLastThatItHas() {
        rig.memory(TenantRig.ANN, "m", 192);
        mountDiskOfAnn();
        rig.quota("a", 256);
        rig.quota("b", 128);
        adopt("ghost/x", 8);
        assertEquals(128, rig.tenant("a").effective());
        assertEquals(64, rig.tenant("b").effective());
        assertEquals(1, rig.tenant("ghost").objects());
        rig.refused(ErrorCode.TENANT_NOT_REGISTERED, rig.put("ghost/y", 1));
        rig.refused(ErrorCode.TENANT_NOT_REGISTERED, new AdminCommand.DeleteQuota("ghost"));
        rig.remove("ghost/x");
        assertEquals(List.of("a", "b"), rig.apply(new AdminCommand.Quotas()).stream().map(TenantInfo::tenant).toList());
    }

    @Test
    void shouldChargeOnlyTheNewReplicaOfWhatLayOnADisk() {
        rig.memory(TenantRig.ANN, "m", 4096);
        mountDiskOfAnn();
        rig.quota("acme", 200);
        adopt("acme/a", 7);
        assertEquals(0, rig.charged("acme"));
        final PutStartReply.Started put = rig.started(rig.put(TenantRig.ANN, "acme/a", 200, PutOptions.DEFAULT, true));
        assertEquals(200, rig.charged("acme"));
        assertEquals(Set.of("disk"), rig.places("acme/a"));
        rig.ended("acme/a", put);
        assertEquals(new TenantInfo("acme", 200, 200, 200, 1, 0, 0), rig.tenant("acme"));
        assertEquals(Set.of("m"), rig.places("acme/a"));
    }

    private void mountDiskOfAnn() {
        rig.apply(new DiskCommand.MountDisk(TenantRig.ANN, "ann:1", 1 << 20));
    }

    private void adopt(final String key, final long version) {
        assertEquals(List.of(true), rig.apply(new DiskCommand.AdoptDisk(TenantRig.ANN, List.of(
            new DiskCommand.StoredObject(TenantRig.key(key), version, 100, 1)))));
    }

    private PromotionReply promote(final String key, final long version) {
        return rig.apply(new DiskCommand.PromotionStart(TenantRig.ANN, TenantRig.key(key), version));
    }

    @Test
    void shouldKeepAQuotaAsLongAsItsTenantHasObjects() {
        rig.memory(TenantRig.ANN, "m", 4096);
        rig.quota("acme", 200);
        rig.started("acme/a", 100);
        rig.refused(ErrorCode.TENANT_NOT_EMPTY, new AdminCommand.DeleteQuota("acme"));
        rig.refused(ErrorCode.TENANT_NOT_REGISTERED, new AdminCommand.DeleteQuota("nobody"));
        rig.advance(TenantRig.RELEASE_MS);
        assertEquals(Ack.OK, rig.apply(new AdminCommand.DeleteQuota("acme")));
        rig.refused(ErrorCode.TENANT_NOT_REGISTERED, rig.put("acme/a", 1));
        assertEquals(List.of(), rig.apply(new AdminCommand.Quotas()));
        rig.quota("acme", 300);
        rig.store("acme/a", 300);
        assertEquals(new TenantInfo("acme", 300, 300, 300, 1, 0, 0), rig.tenant("acme"));
    }

    @Test
    void shouldLetNothingInUntilATenantIsBelowAQuotaThatWasLowered() {
        rig.memory(TenantRig.ANN, "m", 4096);
        rig.quota("acme", 1000);
        rig.store("acme/a", 400, PutOptions.DEFAULT.withHardPin(true));
        rig.store("acme/b", 400);
        rig.quota("acme", 100);
        rig.refused(ErrorCode.TENANT_QUOTA_EXCEEDED, rig.put("acme/c", 1));
        assertTrue(rig.has("acme/b"), "nothing is evicted in vain");
        rig.remove("acme/a");
        rig.started("acme/c", 1);
        assertFalse(rig.has("acme/b"));
        assertEquals(1, rig.charged("acme"));
    }

    @Test
    void shouldAnswerThatThereIsNoMemoryBeforeItSpeaksOfQuotas() {
        rig.quota("acme", 1000);
        assertEquals(new PutStartReply.NoSpace(false), rig.apply(rig.put("acme/a", 100)));
        assertEquals(0, rig.charged("acme"));
    }

    @Test
    void shouldHaveNoQuotasButCountWhereTenantsNeedNone() {
        try (TenantRig open = new TenantRig(false)) {
            open.memory(TenantRig.ANN, "m", 4096);
            open.refused(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, new AdminCommand.SetQuota("acme", 5));
            open.refused(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, new AdminCommand.DeleteQuota("acme"));
            open.store("acme/a", 100);
            open.store("b", 30);
            assertEquals(List.of(new TenantInfo("acme", 0, 0, 100, 1, 0, 0),
                new TenantInfo("default", 0, 0, 30, 1, 0, 0)), open.apply(new AdminCommand.Quotas()));
            open.remove("acme/a");
            open.memory(TenantRig.BEN, "n", 4096);
            open.storeIn("nobytes/a", 0, "m", "n");
            open.remove("nobytes/a");
            assertEquals(1, open.apply(new AdminCommand.Quotas()).size());
        }
    }
}
