# Flags for our objects only. Symbols stay hidden, and a warning from a compiler
# that we have not tested does not break a user's build.
petstore_objs=
for src in $petstore_srcs; do
    case $src in
        */src/*) obj=addon/$(basename "$(dirname "$src")")/$(basename "$src" .cpp).o ;;
        *)       obj=addon/$(basename "$ngx_addon_dir")/$(basename "$src" .cpp).o ;;
    esac
    petstore_objs="$petstore_objs $NGX_OBJS/$obj"
done

cat << END                                                    >> $NGX_MAKEFILE

$petstore_objs:	CFLAGS += -Wno-error -fvisibility=hidden $PETSTORE_CXXFLAGS
END
