# sudo for the superuser: another user, and of the environment only the clock of the tutorial.
user=root
if [ "$1" = -u ]; then user=$2; shift 2; fi
exec env -i PATH="$PATH" NODE_OPTIONS="$NODE_OPTIONS" USER="$user" HOME="$(getent passwd "$user" | cut -d: -f6)" \
  setpriv --reuid "$user" --regid "$(id -g -n "$user")" --init-groups -- "$@"
